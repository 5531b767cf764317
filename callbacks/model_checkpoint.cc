#include "callbacks/model_checkpoint.h"

#include <ATen/ops/from_blob.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <system_error>
#include <utility>

#include "callbacks/check_options.h"
#include "callbacks/checkpoint_name.h"
#include "trainer/core/error.h"

namespace levin {
namespace fs = std::filesystem;
namespace {

RankBy rank_by(const ModelCheckpoint::Options& options) {
  if (!options.monitor) return RankBy::kNewest;
  return options.mode == "max" ? RankBy::kLargest : RankBy::kSmallest;
}

// True if the last step ended the epoch before its last batch, and so before its validation.
bool is_cut_short(const RunContext& run) {
  return run.max_steps && run.state.global_step >= *run.max_steps && run.num_batches &&
         run.state.batch_idx < *run.num_batches;
}

// Makes `values` those of rank 0 on all ranks.
template <size_t N>
void broadcast_from_rank_0(Communicator& communicator, std::array<double, N>& values) {
  if (communicator.world_size() == 1) return;
  at::Tensor packed = at::from_blob(values.data(), {static_cast<int64_t>(N)}, at::kDouble);
  communicator.broadcast(packed, 0);
}

void throw_if_failed(const std::error_code& error, const char* action, const fs::path& path) {
  if (!error) return;
  throw CheckpointError(fmt::format("[ModelCheckpoint] Cannot {} {}: {}.", action, path.string(), error.message()));
}

// Points dir/name to dir/target, at any moment either to the old or to the new one.
void replace_link(const fs::path& dir, const std::string& name, const std::string& target) {
  const fs::path link = dir / name;
  const fs::path temporary = dir / ("." + name + ".tmp");
  std::error_code error;
  fs::remove(temporary, error);
  fs::create_directory_symlink(target, temporary, error);
  throw_if_failed(error, "make the link", temporary);
  fs::rename(temporary, link, error);
  throw_if_failed(error, "replace the link", link);
}

// Puts the old value back, unless the new one is accepted.
template <class T>
class Rollback {
 public:
  explicit Rollback(T& target) : target_(target), before_(target) {}
  ~Rollback() {
    if (!is_accepted_) target_ = std::move(before_);
  }
  Rollback(const Rollback&) = delete;
  Rollback& operator=(const Rollback&) = delete;
  void accept() { is_accepted_ = true; }

 private:
  T& target_;
  T before_;
  bool is_accepted_ = false;
};

}  // namespace

void ModelCheckpoint::Options::visit(OptionVisitor& visitor) {
  visitor.field("monitor", monitor, "metric that decides which checkpoints are the best; null: the newest");
  visitor.field("mode", mode, "which scores are better", one_of({"min", "max"}));
  visitor.field("save_top_k", save_top_k, "best checkpoints to keep; -1 is all, 0 none", at_least(-1));
  visitor.field("save_last", save_last, "keep the newest checkpoint as well");
  visitor.field("every_n_epochs", every_n_epochs, "epochs between two checks, where every_n_train_steps is 0; 0: none",
                at_least(0));
  visitor.field("every_n_train_steps", every_n_train_steps,
                "optimizer steps between two checks; 0: every_n_epochs counts instead", at_least(0));
  visitor.field("filename", filename, "name of a checkpoint: {epoch}, {step} and metrics, as in {val_acc:.4f}");
  visitor.field("dirpath", dirpath, "folder of the checkpoints; \"\": checkpoints/ in the run folder");
}

ModelCheckpoint::ModelCheckpoint(const Options& options)
    : options_(options), saved_{.ranking = CheckpointRanking(rank_by(options), options.save_top_k)} {
  check_options("ModelCheckpoint", options_);
  std::vector<std::string> problems;
  if (!options_.monitor && options_.save_top_k > 1) {
    problems.push_back(
        fmt::format("save_top_k is {}, which needs a monitor; without one it must be -1, 0 or 1", options_.save_top_k));
  }
  const std::string problem = find_pattern_problem(options_.filename);
  if (!problem.empty()) problems.push_back(fmt::format("filename \"{}\" {}", options_.filename, problem));
  throw_if_any("ModelCheckpoint", problems);
}

fs::path ModelCheckpoint::best_model_path() const {
  const RankedCheckpoint* best = saved_.ranking.best();
  return best == nullptr ? loaded_best_path_ : dir_ / best->name;
}

std::optional<double> ModelCheckpoint::best_model_score() const {
  const RankedCheckpoint* best = saved_.ranking.best();
  return best == nullptr ? loaded_best_score_ : best->score;
}

fs::path ModelCheckpoint::last_model_path() const {
  return saved_.last_name.empty() ? fs::path() : dir_ / saved_.last_name;
}

void ModelCheckpoint::on_train_start(const RunContext& run) {
  if (options_.dirpath.empty() && run.run_dir.empty()) {
    throw ConfigError(
        "[ModelCheckpoint] The run keeps no files, so there is no folder for checkpoints. Give dirpath, or set "
        "enable_checkpointing to false.");
  }
  const fs::path dir = options_.dirpath.empty() ? run.run_dir / "checkpoints" : fs::path(options_.dirpath);
  dir_ = fs::absolute(dir).lexically_normal();
  settle_folder();
  // A fit that starts anew must not take an older one's steps for its own.
  saved_.last_checked_step = std::min(saved_.last_checked_step, run.state.global_step);
  seen_step_ = run.state.global_step;
  epoch_ = run.state.epoch;
  is_training_ = true;
  is_due_ = false;
  has_validated_ = false;
  is_metric_of_validation_ = false;
}

void ModelCheckpoint::on_train_epoch_start(const RunContext& run) {
  epoch_ = run.state.epoch;
  is_checked_in_epoch_ = false;
}

void ModelCheckpoint::on_train_batch_end(const RunContext& run, const StepOutput& /*output*/, const Batch& /*batch*/) {
  // Only at the end of an optimizer step: other micro-batches leave gradients that no checkpoint keeps.
  const int64_t step = run.state.global_step;
  if (options_.every_n_train_steps == 0 || step == seen_step_) return;
  seen_step_ = step;
  if (step % options_.every_n_train_steps != 0) return;
  is_due_ = true;
  if (!options_.monitor) return check(run, std::nullopt);
  const Observation monitored = observe(run);
  if (monitored.value && monitored.is_of_stage && !is_metric_of_validation_) check(run, monitored.value);
}

void ModelCheckpoint::on_validation_start(const RunContext& run) {
  has_metric_before_validation_ = options_.monitor && run.metrics.find(*options_.monitor);
}

void ModelCheckpoint::on_validation_end(const RunContext& run) {
  if (!is_training_) return;
  has_validated_ = true;
  is_due_ = is_due_ || is_epoch_due(run);
  if (options_.monitor) {
    const Observation monitored = observe(run);
    if (monitored.value && monitored.is_of_stage) is_metric_of_validation_ = true;
    if (is_due_ && is_metric_of_validation_ && monitored.value) check(run, monitored.value);
  } else if (is_due_) {
    check(run, std::nullopt);
  }
}

void ModelCheckpoint::on_train_epoch_end(const RunContext& run) {
  if (is_cut_short(run)) return;  // on_train_end saves what there is
  is_due_ = is_due_ || (is_epoch_due(run) && !is_checked_in_epoch_);
  if (!is_due_) return;
  if (!options_.monitor) return check(run, std::nullopt);
  const Observation monitored = observe(run);
  if (!monitored.value && has_validated_) throw_missing(run);
  if (monitored.value && !is_metric_of_validation_) check(run, monitored.value);
}

void ModelCheckpoint::on_train_end(const RunContext& run) {
  is_training_ = false;
  const int64_t step = run.state.global_step;
  if (options_.save_last && step > 0 && saved_.last_checked_step != step) {
    saved_.last_checked_step = step;
    save(run, std::nullopt, !options_.monitor && saved_.ranking.accepts(std::nullopt));
  }
  if (is_due_ && options_.monitor && !observe(run).value) throw_missing(run);
}

void ModelCheckpoint::on_exception(const RunContext& /*run*/, const std::exception& /*error*/) noexcept {
  is_training_ = false;
}

ModelCheckpoint::Observation ModelCheckpoint::observe(const RunContext& run) const {
  // found, value, of this stage
  std::array<double, 3> facts = {0.0, 0.0, 0.0};
  if (run.communicator.rank() == 0) {
    const std::string& name = *options_.monitor;
    if (const auto value = run.metrics.find(name)) {
      facts[0] = 1.0;
      facts[1] = *value;
    }
    const auto is_plain_name = [&](const Metrics::Entry& e) {
      return name == e.first || name == e.first + "_step" || name == e.first + "_epoch";
    };
    const Metrics logged = run.store.latest(false);
    // A validation's values may be gone from the store by now; then the name is new in the run's metrics.
    const bool is_new = run.stage == Stage::kValidate && !has_metric_before_validation_;
    facts[2] = is_new || std::any_of(logged.begin(), logged.end(), is_plain_name) ? 1.0 : 0.0;
  }
  broadcast_from_rank_0(run.communicator, facts);
  return {.value = facts[0] > 0.0 ? std::optional(facts[1]) : std::nullopt, .is_of_stage = facts[2] > 0.0};
}

bool ModelCheckpoint::is_epoch_due(const RunContext& run) const {
  return options_.every_n_train_steps == 0 && options_.every_n_epochs > 0 &&
         (run.state.epoch + 1) % options_.every_n_epochs == 0;
}

void ModelCheckpoint::check(const RunContext& run, std::optional<double> value) {
  is_due_ = false;
  is_checked_in_epoch_ = true;
  if (run.state.global_step == 0 || run.state.global_step == saved_.last_checked_step) return;
  const std::optional<double> score = value && !std::isnan(*value) ? value : std::nullopt;
  const bool is_ranked = saved_.ranking.accepts(score);
  saved_.last_checked_step = run.state.global_step;
  if (is_ranked || options_.save_last) save(run, score, is_ranked);
}

void ModelCheckpoint::save(const RunContext& run, std::optional<double> score, bool is_ranked) {
  std::error_code error;
  if (run.communicator.rank() == 0) fs::create_directories(dir_, error);
  throw_if_failed(error, "make the folder", dir_);

  // The checkpoint holds this callback's state with itself in it; if it fails, it has never been.
  Rollback rollback(saved_);
  const Saved before = saved_;
  const std::string name = unused_name(run);
  if (is_ranked) saved_.ranking.add({name, score});
  if (options_.save_last) saved_.last_name = name;
  std::vector<std::string> known = {before.last_name};
  for (const RankedCheckpoint& entry : before.ranking.entries()) known.push_back(entry.name);
  for (const std::string& old : known) {
    const bool is_obsolete = !old.empty() && old != saved_.last_name && !saved_.ranking.contains(old);
    const bool is_listed = std::count(saved_.obsolete.begin(), saved_.obsolete.end(), old) > 0;
    if (is_obsolete && !is_listed) saved_.obsolete.push_back(old);
  }
  run.control.save_checkpoint(dir_ / name);
  rollback.accept();

  if (run.communicator.rank() != 0) {
    saved_.obsolete.clear();
    return;
  }
  update_links();
  delete_obsolete();
}

std::string ModelCheckpoint::unused_name(const RunContext& run) const {
  const std::string name = format_checkpoint_name(options_.filename, epoch_, run.state.global_step, run.metrics);
  const auto versioned = [&](double version) {
    return version > 0.0 ? fmt::format("{}-v{}", name, static_cast<int64_t>(version)) : name;
  };
  std::array<double, 1> version = {0.0};
  if (run.communicator.rank() == 0) {
    while (fs::symlink_status(dir_ / versioned(version[0])).type() != fs::file_type::not_found) version[0] += 1.0;
  }
  broadcast_from_rank_0(run.communicator, version);
  return versioned(version[0]);
}

void ModelCheckpoint::update_links() const {
  if (!saved_.last_name.empty()) replace_link(dir_, "last", saved_.last_name);
  if (const RankedCheckpoint* best = saved_.ranking.best()) replace_link(dir_, "best", best->name);
}

void ModelCheckpoint::delete_obsolete() {
  std::error_code error;
  for (const std::string& name : saved_.obsolete) {
    fs::remove_all(dir_ / name, error);
    throw_if_failed(error, "delete the old checkpoint", dir_ / name);
  }
  saved_.obsolete.clear();
}

void ModelCheckpoint::throw_missing(const RunContext& run) const {
  throw ConfigError(
      fmt::format("[ModelCheckpoint] monitor is \"{}\", but no such metric was logged. There are: {}. Log it, or set "
                  "monitor to one of these.",
                  *options_.monitor, run.metrics.empty() ? "none" : run.metrics.names()));
}

StateDict ModelCheckpoint::state() const {
  StateDict state;
  state.set("dirpath", dir_.string());
  state.set("monitor", options_.monitor.value_or(""));
  state.set("mode", options_.mode);
  state.set("best_model_path", best_model_path().string());
  if (const auto score = best_model_score()) state.set("best_model_score", *score);
  state.set("last", saved_.last_name);
  state.set("last_checked_step", saved_.last_checked_step);
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
  saved_.last_name = state.text("last");
  saved_.last_checked_step = state.integer("last_checked_step");
  loaded_dir_ = state.text("dirpath");
  loaded_best_path_ = state.text("best_model_path");
  loaded_best_score_.reset();
  if (state.contains("best_model_score")) loaded_best_score_ = state.real("best_model_score");
  const bool is_comparable =
      state.text("monitor") == options_.monitor.value_or("") && state.text("mode") == options_.mode;
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
    saved_.ranking.clear();
    saved_.obsolete.clear();
    saved_.last_name.clear();
  }
  loaded_dir_.clear();
}

}  // namespace levin
