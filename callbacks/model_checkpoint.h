#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "callbacks/callback.h"
#include "callbacks/checkpoint_ranking.h"
#include "trainer/core/option_visitor.h"
#include "trainer/core/state_dict.h"

namespace levin {

/// Saves checkpoints during a fit, and keeps the best and the last.
///
/// A check is due at the end of every n-th epoch, or after every n-th optimizer step. It is made after the validation
/// if there is one in this epoch, else when the training epoch ends. Where the monitored value comes from validation,
/// a due check waits for the next validation, so that an old value is never taken for the new weights. A check that
/// finds one of the best `save_top_k` scores saves a folder; strictly better scores replace, and a NaN is never best.
/// Without monitor the newest is the best. With save_last every check saves, as does the end of the fit, and the folder
/// is kept until the next save unless it is one of the best. At most one save for each global_step.
///
/// In the folder of the checkpoints, "last" and "best" are relative links to folders. New folders are written before
/// old ones are deleted, and only folders that this callback (or the run that it continues) wrote are ever deleted. A
/// name that exists already gets "-v1", "-v2", ...
///
/// Collective: runs on all ranks; rank 0 decides, and changes links and folders. Errors: ConfigError if the monitored
/// metric is not logged; CheckpointError if a checkpoint, link or folder cannot be written.
class ModelCheckpoint final : public Callback {
 public:
  struct Options {
    /// Metric that decides which checkpoints are the best. Unset: the newest.
    std::optional<std::string> monitor = std::nullopt;
    /// "min" or "max": which scores are better.
    std::string mode = "min";
    /// Best checkpoints to keep; -1: all, 0: none. Without monitor: -1, 0 or 1.
    int64_t save_top_k = 1;
    /// Keep the newest as well.
    bool save_last = true;
    /// Epochs between two checks, unless every_n_train_steps is set; 0: none.
    int64_t every_n_epochs = 1;
    /// Optimizer steps between two checks; 0: epochs count instead.
    int64_t every_n_train_steps = 0;
    /// Name of a folder, see format_checkpoint_name().
    std::string filename = "{epoch}-{step}";
    /// Where the folders are. "": <run_dir>/checkpoints.
    std::string dirpath = {};

    void visit(OptionVisitor& visitor);
  };

  ModelCheckpoint() : ModelCheckpoint(Options{}) {}
  /// Errors: ConfigError, which names all options that are wrong.
  explicit ModelCheckpoint(const Options& options);

  /// Empty if there is none yet.
  std::filesystem::path best_model_path() const;
  /// nullopt if there is none yet, or no monitor.
  std::optional<double> best_model_score() const;
  /// The newest folder; empty if there is none yet, or without save_last.
  std::filesystem::path last_model_path() const;

  void on_train_start(const RunContext& run) override;
  void on_train_end(const RunContext& run) override;
  void on_train_epoch_start(const RunContext& run) override;
  void on_train_epoch_end(const RunContext& run) override;
  void on_train_batch_end(const RunContext& run, const StepOutput& output, const Batch& batch) override;
  void on_validation_start(const RunContext& run) override;
  void on_validation_end(const RunContext& run) override;
  void on_exception(const RunContext& run, const std::exception& error) noexcept override;

  bool runs_last() const override { return true; }
  StateDict state() const override;
  void load_state(const StateDict& state) override;

 private:
  // What a checkpoint keeps of this callback.
  struct Saved {
    CheckpointRanking ranking;
    std::string last_name = {};              // "" without save_last
    int64_t last_checked_step = 0;           // global_step of the newest check
    std::vector<std::string> obsolete = {};  // written by us, to be deleted
  };
  // The monitored metric, agreed by all ranks.
  struct Observation {
    std::optional<double> value = std::nullopt;  // NaN included
    bool is_of_stage = false;                    // the stage that runs now has logged it
  };

  Observation observe(const RunContext& run) const;
  bool is_epoch_due(const RunContext& run) const;
  void check(const RunContext& run, std::optional<double> value);
  void save(const RunContext& run, std::optional<double> score, bool is_ranked);
  std::string unused_name(const RunContext& run) const;
  void update_links() const;
  void delete_obsolete();
  void settle_folder();
  [[noreturn]] void throw_missing(const RunContext& run) const;

  Options options_;
  Saved saved_;
  std::filesystem::path dir_;         // known when the training starts
  std::filesystem::path loaded_dir_;  // that of the loaded state; empty: none, or dealt with
  std::filesystem::path loaded_best_path_;
  std::optional<double> loaded_best_score_;
  bool is_training_ = false;
  bool is_due_ = false;
  bool is_checked_in_epoch_ = false;
  bool has_validated_ = false;
  bool has_metric_before_validation_ = false;
  bool is_metric_of_validation_ = false;
  int64_t seen_step_ = 0;
  int64_t epoch_ = 0;
};

}  // namespace levin
