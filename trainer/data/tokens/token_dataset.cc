#include "trainer/data/tokens/token_dataset.h"

#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "trainer/core/error.h"

namespace levin {
namespace {

void check_options(const TokenWindows& options, int64_t stride) {
  if (options.sequence_length < 1) {
    throw ConfigError(fmt::format("[TokenDataset] sequence_length must be >= 1, got {}.", options.sequence_length));
  }
  if (stride < 1) throw ConfigError(fmt::format("[TokenDataset] stride must be >= 1, got {}.", stride));
  if (options.vocab_size && *options.vocab_size < 1) {
    throw ConfigError(fmt::format("[TokenDataset] vocab_size must be >= 1, got {}.", *options.vocab_size));
  }
}

int64_t vocab_size_of(const TokenFile& file, const TokenWindows& options) {
  if (options.vocab_size) return *options.vocab_size;
  if (file.info() && file.info()->vocab_size > 0) return file.info()->vocab_size;
  return std::numeric_limits<int64_t>::max();
}

}  // namespace

TokenDataset::TokenDataset(std::vector<std::shared_ptr<const TokenFile>> files, TokenWindows options)
    : files_(std::move(files)),
      length_(options.sequence_length),
      stride_(options.stride.value_or(options.sequence_length)) {
  check_options(options, stride_);
  if (files_.empty()) throw ConfigError("[TokenDataset] there must be a file, got none.");
  int64_t end = 0;
  int64_t longest = 0;
  for (const std::shared_ptr<const TokenFile>& file : files_) {
    longest = std::max(longest, file->size());
    if (file->size() > length_) end += (file->size() - 1 - length_) / stride_ + 1;
    ends_.push_back(end);
    vocab_sizes_.push_back(vocab_size_of(*file, options));
  }
  if (end == 0) {
    throw DataError(
        fmt::format("[TokenDataset] a window of sequence_length {} needs {} tokens, but the longest of {} "
                    "file(s), the first of them {}, has {}.",
                    length_, length_ + 1, files_.size(), files_.front()->path().string(), longest));
  }
}

std::vector<int64_t> TokenDataset::windows_per_file() const {
  std::vector<int64_t> windows;
  for (size_t file = 0; file < ends_.size(); ++file) windows.push_back(ends_[file] - (file == 0 ? 0 : ends_[file - 1]));
  return windows;
}

TokenDataset::Place TokenDataset::find(int64_t index) const {
  if (index < 0 || index >= size()) {
    throw DataError(
        fmt::format("[TokenDataset] a window's index must be between 0 and {}, got {}.", size() - 1, index));
  }
  const auto file = static_cast<size_t>(std::upper_bound(ends_.begin(), ends_.end(), index) - ends_.begin());
  const int64_t first = file == 0 ? 0 : ends_[file - 1];
  return {file, (index - first) * stride_};
}

Batch TokenDataset::get_batch(std::span<const int64_t> indices, const SampleRandom& /*random*/) const {
  const auto num_windows = static_cast<int64_t>(indices.size());
  const auto length = static_cast<size_t>(length_);
  at::Tensor input = at::empty({num_windows, length_}, at::kLong);
  at::Tensor target = at::empty({num_windows, length_}, at::kLong);
  int64_t* input_row = input.mutable_data_ptr<int64_t>();
  int64_t* target_row = target.mutable_data_ptr<int64_t>();
  for (const int64_t index : indices) {
    read_window(find(index), {input_row, length}, {target_row, length});
    input_row += length_;
    target_row += length_;
  }
  return Batch::of(std::move(input), std::move(target));
}

void TokenDataset::read_window(const Place& place, std::span<int64_t> input, std::span<int64_t> target) const {
  const TokenFile& file = *files_[place.file];
  const uint32_t largest = file.read_shifted(place.begin, input, target);
  if (int64_t{largest} < vocab_sizes_[place.file]) return;
  throw DataError(
      fmt::format("[TokenDataset] the tokens of {} must be below {}, the size of the vocabulary, got {} "
                  "between token {} and {}. Is the file of another type than {}, or of another tokenizer?",
                  file.path().string(), vocab_sizes_[place.file], largest, place.begin, place.begin + length_,
                  token_type_name(file.type())));
}

}  // namespace levin
