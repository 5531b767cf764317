#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "callbacks/callback.h"
#include "trainer/core/option_visitor.h"

namespace levin {

/// Writes what Trainer::predict predicts to files, as write_predictions() does.
///
/// With write_interval "batch", each batch has a file of its own, `batch-000000.safetensors` and on in `folder`, which
/// is written as soon as the batch is done: together with return_predictions = false of Trainer::predict, no more than
/// one batch is in memory. With "epoch", all batches go into `file` at the end, and are kept until then. On several
/// ranks each writes its own: `batch-000000-rank-1.safetensors`, `predictions-rank-1.csv`.
///
/// A file has its name only once it is whole. Files of batches that an earlier prediction has left in `folder` are
/// removed at the start. Where the loader knows them, the indices of the samples in the dataset are written as
/// `sample_index`, int64 [B], if a prediction has one row a sample.
///
/// Errors: ConfigError if there is no place to write to; DataError and OutputError of write_predictions().
class PredictionWriter final : public Callback {
 public:
  struct Options {
    /// File of the whole prediction, .safetensors or .csv. "": predictions.<format> in the run folder.
    std::string file = {};
    /// Folder of the batches' files; made where needed. "": predictions/ in the run folder.
    std::string folder = {};
    /// "batch", "epoch" or "batch_and_epoch". Unset: what `file` and `folder` are given for; "batch" if neither is.
    std::optional<std::string> write_interval = std::nullopt;
    /// "safetensors" or "csv": of the files of batches, and of a `file` that is not named.
    std::string format = "safetensors";
    /// Write `sample_index`.
    bool write_indices = true;

    void visit(OptionVisitor& visitor);
  };

  PredictionWriter() : PredictionWriter(Options{}) {}
  /// Errors: ConfigError, which names all options that are wrong.
  explicit PredictionWriter(const Options& options);

  void on_predict_start(const RunContext& run) override;
  void on_predict_batch_end(const RunContext& run, const Batch& predictions, const Batch& batch) override;
  void on_predict_epoch_end(const RunContext& run) override;
  void on_exception(const RunContext& run, const std::exception& error) noexcept override;

 private:
  bool writes_batches() const { return *options_.write_interval != "epoch"; }
  bool writes_epoch() const { return *options_.write_interval != "batch"; }
  std::filesystem::path place(const RunContext& run, const std::string& given, const std::string& name) const;
  std::filesystem::path batch_file(int64_t batch_idx) const;
  void remove_older_batches() const;

  Options options_;
  std::filesystem::path folder_;
  std::filesystem::path file_;
  std::string rank_suffix_;  // "-rank-1"; "" for one rank
  std::vector<Batch> predictions_;
  std::vector<at::Tensor> indices_;  // of each of predictions_, as far as they are known
};

}  // namespace levin
