#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "trainer/data/iterable_dataset.h"

namespace levin {

/// How PackedDocuments makes windows.
struct PackingOptions {
  /// T, tokens of an input.
  int64_t sequence_length = 1024;
  /// Appended to each document. Without it nothing marks where one ends.
  std::optional<int64_t> end_of_text = std::nullopt;
  /// What is left at the end of the epoch: false leaves it out, true fills it up with pad_token to one more window.
  bool pads_last = false;
  int64_t pad_token = 0;
  /// The target of a document's last token is ignore_index, instead of the first token of the next document.
  bool ignores_borders = false;
  /// What stands for a target that does not count; torch's cross entropy leaves out -100 by itself.
  int64_t ignore_index = -100;
};

/// Packs documents of any length into windows, so that no padding is needed. Each window is T + 1 tokens of the
/// documents, of which the last is the first of the next window: every token but the first is a target once. A document
/// that is longer than what is left of a window goes on in the next one. Documents without tokens are passed over.
///
/// A sample has four fields, all int64 [T]:
///   input, target   target[t] is the token after input[t]
///   document        which of the window's documents input[t] is of, from 0; attention must not cross them. Padding
///                   counts as one more document.
///   position        of input[t] within its document, from 0 where the document begins or the window does; so it is
///                   always below T
///
/// A stream has a state where the documents' stream has one, and is then resumed without reading anything twice: the
/// rest of the document at hand is part of it, as a tensor that shares the document's memory.
class PackedDocuments final : public IterableDataset {
 public:
  /// documents: each sample is one document, a tensor int64 [L]. Errors: ConfigError if an option is out of range. The
  /// stream's errors: DataError if a sample is anything else.
  PackedDocuments(std::shared_ptr<const IterableDataset> documents, PackingOptions options);

  std::unique_ptr<SampleStream> open(const SampleRandom& random) const override;

 private:
  std::shared_ptr<const IterableDataset> documents_;
  PackingOptions options_;
};

}  // namespace levin
