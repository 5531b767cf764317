// The options and the saved state of ModelCheckpoint.
#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "callbacks/check_options.h"
#include "callbacks/checkpoint_name.h"
#include "callbacks/model_checkpoint.h"
#include "trainer/core/duration.h"

namespace levin {
namespace {

RankBy rank_by(const ModelCheckpoint::Options& options) {
  if (!options.monitor) return RankBy::kNewest;
  return options.mode == "max" ? RankBy::kLargest : RankBy::kSmallest;
}

// What one field's rule cannot say.
std::vector<std::string> find_problems(const ModelCheckpoint::Options& options) {
  std::vector<std::string> problems;
  if (!options.monitor && options.save_top_k > 1) {
    problems.push_back(
        fmt::format("save_top_k is {}, which needs a monitor; without one it must be -1, 0 or 1", options.save_top_k));
  }
  const int num_triggers = (options.every_n_epochs.value_or(0) > 0 ? 1 : 0) +
                           (options.every_n_train_steps.value_or(0) > 0 ? 1 : 0) +
                           (options.train_time_interval ? 1 : 0);
  if (num_triggers > 1) {
    problems.emplace_back("only one of every_n_epochs, every_n_train_steps and train_time_interval may be given");
  }
  if (options.train_time_interval) {
    const auto interval = try_parse_duration(*options.train_time_interval);
    if (!interval || interval->count() <= 0.0) {
      problems.push_back(fmt::format("train_time_interval must be above 0, as {}, got \"{}\"", kDurationForm,
                                     *options.train_time_interval));
    }
  }
  const std::string problem = find_pattern_problem(options.filename, options.auto_insert_metric_name);
  if (!problem.empty()) problems.push_back(fmt::format("filename \"{}\" {}", options.filename, problem));
  return problems;
}

}  // namespace

void ModelCheckpoint::Options::visit(OptionVisitor& visitor) {
  visitor.field("monitor", monitor, "metric that decides which checkpoints are the best; null: the newest");
  visitor.field("mode", mode, "which scores are better", one_of({"min", "max"}));
  visitor.field("save_top_k", save_top_k, "best checkpoints to keep; -1 is all, 0 none", at_least(-1));
  visitor.field("save_last", save_last.text, "keep the newest checkpoint as well; link: \"last\" is a link to the best",
                one_of({"true", "false", "link"}));
  visitor.field("every_n_epochs", every_n_epochs, "epochs between two checks; 0: none", at_least(0));
  visitor.field("every_n_train_steps", every_n_train_steps, "optimizer steps between two checks", at_least(0));
  visitor.field("train_time_interval", train_time_interval, "wall time between two checks: 30m, 00:01:00:00");
  visitor.field("save_on_train_epoch_end", save_on_train_epoch_end.text,
                "true: check at the end of the training epoch; false: after validations; null: as there are some",
                one_of({"true", "false"}));
  visitor.field("filename", filename, "name of a checkpoint: {epoch}, {step} and metrics, as in {val_acc:.4f}");
  visitor.field("auto_insert_metric_name", auto_insert_metric_name, "{epoch} in the name is \"epoch=1\"; false: \"1\"");
  visitor.field("dirpath", dirpath, "folder of the checkpoints; \"\": checkpoints/ in the run folder");
  visitor.field("save_weights_only", save_weights_only, "leave out what resuming needs");
  visitor.field("save_on_exception", save_on_exception, "save a checkpoint when the training fails");
  visitor.field("on_save_error", on_save_error, "what a checkpoint that cannot be written does to the run",
                one_of({"stop", "continue"}));
}

ModelCheckpoint::ModelCheckpoint(const Options& options, ClockFunction now_s)
    : options_(options),
      now_s_(std::move(now_s)),
      saved_{.ranking = CheckpointRanking(rank_by(options), options.save_top_k)} {
  check_options("ModelCheckpoint", options_);
  throw_if_any("ModelCheckpoint", find_problems(options_));
  if (options_.monitor) monitored_.emplace("ModelCheckpoint", *options_.monitor);
  const bool has_other_trigger = options_.every_n_train_steps.value_or(0) > 0 || options_.train_time_interval;
  if (!options_.every_n_epochs) options_.every_n_epochs = has_other_trigger ? 0 : 1;
}

std::string ModelCheckpoint::state_key() const {
  return fmt::format(
      "ModelCheckpoint(monitor={},mode={},every_n_epochs={},every_n_train_steps={},"
      "train_time_interval={})",
      options_.monitor.value_or(""), options_.mode, *options_.every_n_epochs, options_.every_n_train_steps.value_or(0),
      options_.train_time_interval.value_or(""));
}

StateDict ModelCheckpoint::state() const {
  StateDict state;
  state.set("dirpath", dir_.string());
  state.set("monitor", options_.monitor.value_or(""));
  state.set("mode", options_.mode);
  state.set("best_model_path", best_model_path().string());
  if (const auto score = best_model_score()) state.set("best_model_score", *score);
  state.set("last", saved_.last_name);
  state.set("newest", saved_.newest_name);
  state.set("last_checked_step", saved_.last_checked_step);
  state.set("last_saved_step", saved_.last_saved_step);
  state.set("is_due", int64_t{is_due_ ? 1 : 0});
  state.set("is_of_validation", int64_t{monitored_ && monitored_->is_of_validation() ? 1 : 0});
  int64_t index = 0;
  for (const RankedCheckpoint& entry : saved_.ranking.entries()) {
    state.set(fmt::format("kept.{}.name", index), entry.name);
    if (entry.score) state.set(fmt::format("kept.{}.score", index), *entry.score);
    ++index;
  }
  index = 0;
  for (const std::string& name : saved_.obsolete) state.set(fmt::format("obsolete.{}", index++), name);
  return state;
}

void ModelCheckpoint::load_state(const StateDict& state) {
  saved_.ranking.clear();
  saved_.obsolete.clear();
  saved_.last_name = options_.save_last.text == "false" ? "" : state.text("last");
  protected_name_ = state.text("newest");
  saved_.last_checked_step = state.integer("last_checked_step");
  saved_.last_saved_step = state.integer("last_saved_step");
  is_due_ = state.integer("is_due") != 0;
  loaded_dir_ = state.text("dirpath");
  loaded_best_path_ = state.text("best_model_path");
  loaded_best_score_.reset();
  if (state.contains("best_model_score")) loaded_best_score_ = state.real("best_model_score");
  const bool is_comparable =
      state.text("monitor") == options_.monitor.value_or("") && state.text("mode") == options_.mode;
  if (is_comparable && monitored_) monitored_->set_of_validation(state.integer("is_of_validation") != 0);
  for (int64_t i = 0; is_comparable && state.contains(fmt::format("kept.{}.name", i)); ++i) {
    RankedCheckpoint entry{.name = state.text(fmt::format("kept.{}.name", i))};
    const std::string score = fmt::format("kept.{}.score", i);
    if (state.contains(score)) entry.score = state.real(score);
    if (saved_.ranking.accepts(entry.score)) saved_.ranking.add(std::move(entry));
  }
  for (int64_t i = 0; state.contains(fmt::format("obsolete.{}", i)); ++i) {
    saved_.obsolete.push_back(state.text(fmt::format("obsolete.{}", i)));
  }
  if (!dir_.empty()) settle_folder();
}

// Names in a loaded state mean folders in the folder of that time; elsewhere the list starts anew.
void ModelCheckpoint::settle_folder() {
  if (!loaded_dir_.empty() && loaded_dir_ != dir_) {
    TORCH_WARN("[ModelCheckpoint] The checkpoints of the fit that is resumed are in ", loaded_dir_.string(),
               ", new ones go to ", dir_.string(),
               ". The best and the last are chosen anew; those there stay as they are.");
    saved_.ranking.clear();
    saved_.obsolete.clear();
    saved_.last_name.clear();
    protected_name_.clear();
  }
  loaded_dir_.clear();
}

}  // namespace levin
