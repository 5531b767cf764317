#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "callbacks/awaited_folder.h"
#include "callbacks/callback.h"
#include "callbacks/checkpoint_ranking.h"
#include "callbacks/clock.h"
#include "callbacks/monitored_metric.h"
#include "callbacks/switch_options.h"
#include "trainer/core/option_visitor.h"
#include "trainer/core/state_dict.h"

namespace levin {

/// Saves checkpoints during a fit, and keeps the best and the last. See docs/callbacks.md.
///
/// A check is due at the end of every n-th epoch, after every n-th optimizer step (counted over epochs), or after a
/// time. Where the monitored value comes from validation, it waits for the next validation, so that an old value is
/// never taken for the new weights; "last" is refreshed at once, unless that validation is the very next thing. A check
/// that finds one of the best `save_top_k` scores saves a folder; strictly better scores replace, and a NaN is never
/// best. Without monitor the newest is the best. With save_last the end of the fit saves too. At most one check for
/// each global_step; none in the sanity check.
///
/// In the folder of the checkpoints, "last" and "best" are relative links. They move when the new folder is complete,
/// and old folders go after that, and only folders that this callback (or the run that it continues) wrote are ever
/// removed; the one that the fit was resumed from stays. A name that exists already, or that another ModelCheckpoint
/// has taken, gets "-v1", "-v2", ..., unless it is that of a folder of our own that the new one replaces. Of several in
/// one folder, "best" is that of the first that keeps any, and "last" the newest of all. A save that failed has never
/// been: the best and the last are those of before.
///
/// Collective: runs on all ranks; rank 0 decides. Errors: ConfigError if the monitored metric is not
/// logged; CheckpointError if a checkpoint or link cannot be written, unless on_save_error is "continue".
class ModelCheckpoint final : public Callback {
 public:
  struct Options {
    /// Metric that decides which checkpoints are the best. Unset: the newest.
    std::optional<std::string> monitor = std::nullopt;
    /// "min" or "max": which scores are better.
    std::string mode = "min";
    /// Best checkpoints to keep; -1: all, 0: none. Without monitor: -1, 0 or 1.
    int64_t save_top_k = 1;
    /// true: keep the newest as well; "link": "last" points to the newest of those that are kept anyway.
    SaveLast save_last = true;
    /// Epochs between two checks; 0: none. One of the next three may be given; 1 if none is.
    std::optional<int64_t> every_n_epochs = std::nullopt;
    /// Optimizer steps between two checks.
    std::optional<int64_t> every_n_train_steps = std::nullopt;
    /// Wall time between two checks, see parse_duration(). Checked at the end of optimizer steps.
    std::optional<std::string> train_time_interval = std::nullopt;
    /// Where checks that epochs bring are made: true at the end of the training epoch, false after validations, unset
    /// after validations where there are some.
    OptionalSwitch save_on_train_epoch_end = std::nullopt;
    /// Name of a folder, see format_checkpoint_name().
    std::string filename = "{epoch}-{step}";
    /// "{epoch}" in the name stands for "epoch=1"; false: for "1".
    bool auto_insert_metric_name = true;
    /// Where the folders are. "": <run_dir>/checkpoints.
    std::string dirpath = {};
    /// Leave out what resuming needs.
    bool save_weights_only = false;
    /// Save "on_exception" when the training fails (one process only), and let "last" point to it.
    bool save_on_exception = false;
    /// "stop" or "continue": what a checkpoint that cannot be written does to the run.
    std::string on_save_error = "stop";

    void visit(OptionVisitor& visitor);
  };

  ModelCheckpoint() : ModelCheckpoint(Options{}) {}
  /// Errors: ConfigError, which names all options that are wrong.
  explicit ModelCheckpoint(const Options& options, ClockFunction now_s = steady_now_s);

  /// Empty if there is none yet.
  std::filesystem::path best_model_path() const;
  /// The metric that decides which checkpoints are the best; "" if there is none.
  std::string monitor() const { return options_.monitor.value_or(""); }
  /// nullopt if there is none yet, or no monitor.
  std::optional<double> best_model_score() const;
  /// The newest folder that "last" means; empty if there is none yet, or without save_last.
  std::filesystem::path last_model_path() const;
  /// Those of the best that are kept, from old to new, with their scores.
  std::vector<std::pair<std::filesystem::path, std::optional<double>>> best_k_models() const;

  void on_train_start(const RunContext& run) override;
  void on_train_end(const RunContext& run) override;
  void on_train_epoch_start(const RunContext& run) override;
  void on_train_epoch_end(const RunContext& run) override;
  void on_train_batch_end(const RunContext& run, const StepOutput& output, const Batch& batch) override;
  void on_validation_start(const RunContext& run) override;
  void on_validation_end(const RunContext& run) override;
  void on_fit_end(const RunContext& run) override;
  void on_exception(const RunContext& run, const std::exception& error) noexcept override;

  bool runs_last() const override { return true; }
  /// The folders that there are stay known when the run goes back to one of them.
  bool goes_back() const override { return false; }
  std::string state_key() const override;
  StateDict state() const override;
  void load_state(const StateDict& state) override;

 private:
  // What a checkpoint keeps of this callback.
  struct Saved {
    CheckpointRanking ranking;
    std::string last_name = {};              // what "last" means; "" without save_last
    std::string newest_name = {};            // in a loaded state: the checkpoint that holds it
    int64_t last_checked_step = 0;           // global_step of the newest check
    int64_t last_saved_step = 0;             // global_step of the newest folder
    std::vector<std::string> obsolete = {};  // written by us, to be removed
  };

  bool keeps_last() const { return options_.save_last.text == "true"; }
  bool is_epoch_due(const RunContext& run) const;
  bool is_time_due(const RunContext& run);
  void check(const RunContext& run, std::optional<double> value);
  void refresh_last(const RunContext& run);
  void save(const RunContext& run, std::optional<double> score, bool is_ranked, const std::string& pattern);
  std::string choose_name(const RunContext& run, const std::string& pattern, const Saved& before) const;
  void list_obsolete(const Saved& before);
  SaveOptions save_options(const std::string& name) const;
  void notice_step_back(int64_t step);
  void confirm_older(const RunContext& run);
  void confirm(const RunContext& run);
  std::vector<LinkTarget> wanted_links() const;
  void claim_names(const RunContext& run);
  void settle_folder();

  Options options_;
  ClockFunction now_s_;
  std::optional<MonitoredMetric> monitored_;
  Saved saved_;
  std::optional<Saved> before_save_;  // while it is not known whether the newest save has succeeded
  AwaitedFolder awaited_;             // of the newest save
  bool owns_best_ = false;            // the link
  std::string protected_name_;        // the folder that the fit was resumed from
  std::filesystem::path dir_;         // known when the training starts
  std::filesystem::path loaded_dir_;  // that of the loaded state; empty: none, or dealt with
  std::filesystem::path loaded_best_path_;
  std::optional<double> loaded_best_score_;
  bool is_training_ = false;
  bool is_due_ = false;
  bool is_checked_in_epoch_ = false;
  int64_t seen_step_ = 0;
  int64_t epoch_ = 0;
  double last_due_s_ = 0.0;
};

}  // namespace levin
