#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trainer/data/dataset.h"

namespace levin {

/// Windows of tokens that are in memory, for language models: the list [input, target], int64 [B, T] both,
/// where target is input one token further on. Window i are the tokens [i * T, i * T + T + 1); what does not fill one
/// at the end is left out.
class TextWindows final : public Dataset {
 public:
  /// Errors: ConfigError if sequence_length < 1; DataError if the tokens do not fill a window.
  TextWindows(std::vector<uint32_t> tokens, int64_t sequence_length);

  int64_t size() const override { return size_; }
  Batch get_batch(std::span<const int64_t> indices, const SampleRandom& random) const override;

 private:
  std::vector<uint32_t> tokens_;
  int64_t length_;
  int64_t size_ = 0;
};

}  // namespace levin
