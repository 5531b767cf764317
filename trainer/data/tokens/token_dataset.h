#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "trainer/data/dataset.h"
#include "trainer/data/tokens/token_file.h"

namespace levin {

/// How a TokenDataset cuts files into windows.
struct TokenWindows {
  /// T, tokens of an input.
  int64_t sequence_length = 1024;
  /// Tokens from one window's start to the next one's. Default: sequence_length, with which each token but the first
  /// of a file is a target once.
  std::optional<int64_t> stride = std::nullopt;
  /// Tokens must be below it. Default: what a file's side file says; without one, it is not checked.
  std::optional<int64_t> vocab_size = std::nullopt;
};

/// Windows of token files, for language models: window i of a file are its tokens [i * stride, i * stride + T + 1).
/// Indices go through the files one after the other; a window lies in one file, and tokens at a file's end that do not
/// fill one are left out. To mix files by weights, see MixingSampler.
///
/// A batch is the list [input, target], int64 [B, T] both, contiguous; target[b][t] = input[b][t + 1].
class TokenDataset final : public Dataset {
 public:
  /// files: opened once, and shared with the caller.
  /// Errors: ConfigError if an option is out of range; DataError if no file has a window.
  TokenDataset(std::vector<std::shared_ptr<const TokenFile>> files, TokenWindows options);

  /// Windows of all files.
  int64_t size() const override { return ends_.back(); }
  /// Windows of each file, which may be 0.
  std::vector<int64_t> windows_per_file() const;
  const std::vector<std::shared_ptr<const TokenFile>>& files() const { return files_; }

  /// Errors: DataError if an index is out of range, a token is not below the vocabulary's size (both name the file and
  /// the values), or a file has been cut since it was opened.
  Batch get_batch(std::span<const int64_t> indices, const SampleRandom& random) const override;

 private:
  /// Where a window is.
  struct Place {
    size_t file = 0;
    int64_t begin = 0;  // its first token in the file
  };

  Place find(int64_t index) const;
  void read_window(const Place& place, std::span<int64_t> input, std::span<int64_t> target) const;

  std::vector<std::shared_ptr<const TokenFile>> files_;
  int64_t length_;
  int64_t stride_;
  std::vector<int64_t> ends_;         // of each file, one past its last window's index
  std::vector<int64_t> vocab_sizes_;  // of each file
};

}  // namespace levin
