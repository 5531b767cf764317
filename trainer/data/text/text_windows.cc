#include "trainer/data/text/text_windows.h"

#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "trainer/core/error.h"

namespace levin {

TextWindows::TextWindows(std::vector<uint32_t> tokens, int64_t sequence_length)
    : tokens_(std::move(tokens)), length_(sequence_length) {
  if (length_ < 1) throw ConfigError(fmt::format("[TextWindows] sequence_length must be >= 1, got {}.", length_));
  size_ = (static_cast<int64_t>(tokens_.size()) - 1) / length_;
  if (size_ < 1) {
    throw DataError(
        fmt::format("[TextWindows] the text has {} tokens, too few for one window of sequence_length + 1 = {}. Shorten "
                    "sequence_length, or give more text.",
                    tokens_.size(), length_ + 1));
  }
}

Batch TextWindows::get_batch(std::span<const int64_t> indices, const SampleRandom& /*random*/) const {
  const auto options = at::TensorOptions(at::kLong);
  at::Tensor input = at::empty({static_cast<int64_t>(indices.size()), length_}, options);
  at::Tensor target = at::empty({static_cast<int64_t>(indices.size()), length_}, options);
  auto* inputs = input.mutable_data_ptr<int64_t>();
  auto* targets = target.mutable_data_ptr<int64_t>();
  for (const int64_t index : indices) {
    if (index < 0 || index >= size_) {
      throw DataError(fmt::format("[TextWindows] the index must be in [0, {}), got {}.", size_, index));
    }
    const uint32_t* window = tokens_.data() + index * length_;
    inputs = std::copy_n(window, length_, inputs);
    targets = std::copy_n(window + 1, length_, targets);
  }
  return Batch::of(input, target);
}

}  // namespace levin
