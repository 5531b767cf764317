#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "trainer/data/iterable_dataset.h"
#include "trainer/data/text/document_reader.h"
#include "trainer/data/text/tokenizer.h"

namespace levin {

/// The documents of text files, tokenized while they are read: a sample is one document, a tensor int64 [L] of its
/// tokens. Files, gzip-compressed or not, and their documents come in order; documents without text are passed over.
///
/// A stream skips documents without tokenizing them, and its state is a file and a place in it, so that a resume reads
/// nothing twice (of a compressed file, it decompresses what is before).
class TextDataset final : public IterableDataset {
 public:
  struct Options {
    DocumentOptions documents = {};
    /// Appends the tokenizer's end of text to each document.
    bool appends_end_of_text = true;
  };

  /// Errors: ConfigError if there are no files, the separator is empty, or appends_end_of_text is set and the tokenizer
  /// has none; DataError if a file is missing. The stream's errors: DataError if a file is damaged.
  TextDataset(std::vector<std::filesystem::path> files, std::shared_ptr<const Tokenizer> tokenizer, Options options);

  std::unique_ptr<SampleStream> open(const SampleRandom& random) const override;

 private:
  std::vector<std::filesystem::path> files_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  Options options_;
};

}  // namespace levin
