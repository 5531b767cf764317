#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "trainer/data/split_data.h"
#include "trainer/data/tokens/token_dataset.h"

namespace levin {

/// Token files for a language model: batches [input, target], int64 [B, T] both (see TokenDataset). Training windows
/// are shuffled, or mixed where `weights` or `windows_per_epoch` is given (see MixingSampler); all others come in
/// order, next to each other whatever `stride` is.
class TokenData final : public SplitData {
 public:
  struct Options {
    std::vector<std::string> train_files = {};
    std::vector<std::string> val_files = {};
    std::vector<std::string> test_files = {};
    std::vector<std::string> predict_files = {};
    /// One for each of train_files. Without them every training window comes once in an epoch.
    std::vector<double> weights = {};
    /// Training windows of an epoch. Default: as many as the files have.
    std::optional<int64_t> windows_per_epoch = std::nullopt;
    int64_t sequence_length = 1024;
    /// Of training windows. Default: sequence_length.
    std::optional<int64_t> stride = std::nullopt;
    /// "uint16" or "uint32", for files without a side file.
    std::optional<std::string> type = std::nullopt;
    /// Default: what a file's side file says.
    std::optional<int64_t> vocab_size = std::nullopt;
    int64_t eval_batch_size = 32;
    /// batch_size and the worker options; the data module sets the others.
    LoaderOptions loader = {};

    void visit(OptionVisitor& visitor);
  };

  /// Errors: ConfigError if an option is out of range or options do not fit together. Those of setup(): as of
  /// TokenFile, TokenDataset and MixingSampler.
  explicit TokenData(Options options);

 private:
  const std::vector<std::string>& files(Split split) const;
  std::shared_ptr<const Dataset> open(Split split) override;
  std::shared_ptr<const Sampler> train_sampler() override;

  Options options_;
  std::vector<int64_t> train_windows_;  // of each training file, once they are open
};

}  // namespace levin
