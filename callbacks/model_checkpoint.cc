#include "callbacks/model_checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <system_error>
#include <utility>

#include "callbacks/checkpoint_name.h"
#include "callbacks/rank_agreement.h"
#include "callbacks/validation_point.h"
#include "trainer/core/duration.h"
#include "trainer/core/error.h"

namespace levin {
namespace fs = std::filesystem;
namespace {

constexpr size_t kLongestName = 240;  // leaves room for what a temporary name adds to 255 bytes

// True if the last step ended the epoch before its last batch, and so before its validation.
bool is_cut_short(const RunContext& run) {
  return run.max_steps && run.state.global_step >= *run.max_steps && run.num_batches &&
         run.state.batch_idx < *run.num_batches;
}

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::symlink_status(path, error).type() != fs::file_type::not_found;
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

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

std::vector<std::pair<fs::path, std::optional<double>>> ModelCheckpoint::best_k_models() const {
  std::vector<std::pair<fs::path, std::optional<double>>> models;
  for (const RankedCheckpoint& entry : saved_.ranking.entries()) models.emplace_back(dir_ / entry.name, entry.score);
  return models;
}

void ModelCheckpoint::on_train_start(const RunContext& run) {
  if (options_.dirpath.empty() && run.run_dir.empty()) {
    throw ConfigError(
        "[ModelCheckpoint] The run keeps no files, so there is no folder for checkpoints. Give dirpath, or set "
        "enable_checkpointing to false.");
  }
  if (options_.save_on_train_epoch_end.is_off() && *options_.every_n_epochs > 0 && !run.has_validation) {
    throw ConfigError(
        "[ModelCheckpoint] save_on_train_epoch_end is false, but the fit has no validation, so that nothing would be "
        "saved. Leave the option out, or add validation.");
  }
  const fs::path dir = options_.dirpath.empty() ? run.run_dir / "checkpoints" : fs::path(options_.dirpath);
  dir_ = fs::absolute(dir).lexically_normal();
  settle_folder();
  claim_names(run);
  awaited_.forget();
  before_save_.reset();
  // A fit that starts anew must not take an older one's steps for its own.
  saved_.last_checked_step = std::min(saved_.last_checked_step, run.state.global_step);
  saved_.last_saved_step = std::min(saved_.last_saved_step, run.state.global_step);
  if (monitored_) monitored_->start_training();
  seen_step_ = run.state.global_step;
  epoch_ = run.state.epoch;
  last_due_s_ = now_s_();
  is_training_ = true;
  is_due_ = is_due_ && run.state.global_step > 0;  // a loaded check may still wait for its validation
}

void ModelCheckpoint::on_train_epoch_start(const RunContext& run) {
  epoch_ = run.state.epoch;
  is_checked_in_epoch_ = false;
}

void ModelCheckpoint::on_train_batch_end(const RunContext& run, const StepOutput& /*output*/, const Batch& /*batch*/) {
  // Only at the end of an optimizer step: other micro-batches leave gradients that no checkpoint keeps.
  const int64_t step = run.state.global_step;
  if (step == seen_step_) return;
  if (step < seen_step_) notice_step_back(step);
  seen_step_ = step;
  const int64_t interval = options_.every_n_train_steps.value_or(0);
  const bool is_step_due = interval > 0 && step % interval == 0;
  if (!is_step_due && !is_time_due(run)) return;
  is_due_ = true;
  if (!monitored_) return check(run, std::nullopt);
  const MonitoredMetric::Observation seen = monitored_->observe(run);
  if (seen.value && seen.is_of_stage && !monitored_->is_of_validation()) return check(run, seen.value);
  if (!is_validation_next(run)) refresh_last(run);
}

void ModelCheckpoint::on_validation_start(const RunContext& run) {
  if (monitored_) monitored_->start_validation(run);
}

void ModelCheckpoint::on_validation_end(const RunContext& run) {
  if (!is_training_ || run.is_sanity_checking) return;
  is_due_ = is_due_ || (is_epoch_due(run) && !options_.save_on_train_epoch_end.is_on());
  if (!monitored_) {
    if (is_due_) check(run, std::nullopt);
    return;
  }
  const MonitoredMetric::Observation seen = monitored_->end_validation(run);
  if (is_due_ && monitored_->is_of_validation() && seen.value) check(run, seen.value);
}

void ModelCheckpoint::on_train_epoch_end(const RunContext& run) {
  if (is_cut_short(run)) return;  // on_train_end saves what there is
  if (monitored_) monitored_->check_is_logged(run);
  const bool checks_here = !options_.save_on_train_epoch_end.is_off();
  is_due_ = is_due_ || (checks_here && is_epoch_due(run) && !is_checked_in_epoch_);
  if (!is_due_) return;
  if (!monitored_) return check(run, std::nullopt);
  const MonitoredMetric::Observation seen = monitored_->observe(run);
  const bool is_fresh = !monitored_->is_of_validation() || monitored_->is_validated_at(run.state.global_step);
  if (seen.value && is_fresh) return check(run, seen.value);
  refresh_last(run);
}

void ModelCheckpoint::on_train_end(const RunContext& run) {
  is_training_ = false;
  const int64_t step = run.state.global_step;
  if (keeps_last() && step > 0 && saved_.last_saved_step != step) {
    confirm(run);
    const bool is_ranked = !monitored_ && saved_.ranking.accepts(std::nullopt);
    saved_.last_checked_step = step;
    save(run, std::nullopt, is_ranked, options_.filename);
  }
  if (is_due_ && monitored_ && !monitored_->observe(run).value && !is_cut_short(run)) monitored_->throw_missing(run);
  is_due_ = false;
}

void ModelCheckpoint::on_fit_end(const RunContext& run) { confirm(run); }

void ModelCheckpoint::on_exception(const RunContext& run, const std::exception& /*error*/) noexcept {
  const bool was_training = is_training_;
  is_training_ = false;
  const int64_t step = run.state.global_step;
  if (!options_.save_on_exception || !was_training || step == 0 || step == saved_.last_saved_step) return;
  // A rank that fails alone has nobody to agree with on a checkpoint.
  if (run.communicator.world_size() > 1) return;
  try {
    save(run, std::nullopt, /*is_ranked=*/false, "on_exception");
  } catch (const std::exception&) {
    // What ended the run is the error to be seen, not this one.
  }
}

bool ModelCheckpoint::is_epoch_due(const RunContext& run) const {
  return *options_.every_n_epochs > 0 && (run.state.epoch + 1) % *options_.every_n_epochs == 0;
}

bool ModelCheckpoint::is_time_due(const RunContext& run) {
  if (!options_.train_time_interval) return false;
  const double now = now_s_();
  std::array<double, 1> is_due = {now - last_due_s_ >= parse_duration(*options_.train_time_interval).count() ? 1. : 0.};
  broadcast_from_rank_0(run.communicator, is_due);
  if (is_due[0] > 0.0) last_due_s_ = now;
  return is_due[0] > 0.0;
}

void ModelCheckpoint::check(const RunContext& run, std::optional<double> value) {
  is_due_ = false;
  is_checked_in_epoch_ = true;
  const int64_t step = run.state.global_step;
  if (step == 0 || step == saved_.last_checked_step) return;
  confirm_older(run);  // a save that failed leaves its place
  saved_.last_checked_step = step;
  const std::optional<double> score = value && !std::isnan(*value) ? value : std::nullopt;
  const bool is_ranked = saved_.ranking.accepts(score);
  const bool is_last_old = keeps_last() && step != saved_.last_saved_step;
  if (is_ranked || is_last_old) save(run, score, is_ranked, options_.filename);
}

// A save is due, but its score is not known yet.
void ModelCheckpoint::refresh_last(const RunContext& run) {
  const int64_t step = run.state.global_step;
  if (keeps_last() && step > 0 && step != saved_.last_saved_step) save(run, std::nullopt, false, options_.filename);
}

void ModelCheckpoint::save(const RunContext& run, std::optional<double> score, bool is_ranked,
                           const std::string& pattern) {
  const int64_t step = run.state.global_step;
  confirm_older(run);
  const Saved before = saved_;
  // Takes the places of those that go, so that their names are free, and gets its own name then.
  if (is_ranked) saved_.ranking.add({"", score});
  if (options_.save_last.text != "false") saved_.last_name.clear();
  const std::string name = choose_name(run, pattern, before);
  saved_.ranking.rename("", name);
  if (options_.save_last.text != "false") saved_.last_name = name;
  saved_.newest_name = name;
  saved_.last_saved_step = step;
  list_obsolete(before);
  SaveOptions options = save_options(name);
  if (pattern != options_.filename) options.replaces.clear();  // the weights of a failed run may be spoilt
  awaited_.await(dir_ / name);
  try {
    run.control.save_checkpoint(dir_ / name, options);
  } catch (...) {
    saved_ = before;
    awaited_.forget();
    throw;
  }
  if (!before_save_) before_save_ = before;
}

// Everything of before that is neither among the best nor the last any more.
void ModelCheckpoint::list_obsolete(const Saved& before) {
  // What is gone need not be removed again, and its name may be used again.
  std::erase_if(saved_.obsolete,
                [&](const std::string& name) { return name == saved_.newest_name || !is_there(dir_ / name); });
  std::vector<std::string> known = {before.last_name};
  for (const RankedCheckpoint& entry : before.ranking.entries()) known.push_back(entry.name);
  for (const std::string& old : known) {
    const bool is_kept =
        old.empty() || old == saved_.newest_name || old == saved_.last_name || saved_.ranking.contains(old);
    if (!is_kept && !contains(saved_.obsolete, old)) saved_.obsolete.push_back(old);
  }
}

SaveOptions ModelCheckpoint::save_options(const std::string& name) const {
  SaveOptions options{.weights_only = options_.save_weights_only,
                      .continue_on_error = options_.on_save_error == "continue"};
  options.links = wanted_links();
  for (const std::string& old : saved_.obsolete) {
    if (old != protected_name_ && old != name) options.replaces.push_back(dir_ / old);
  }
  return options;
}

std::vector<LinkTarget> ModelCheckpoint::wanted_links() const {
  std::vector<LinkTarget> links;
  if (!saved_.last_name.empty()) links.push_back({dir_ / "last", saved_.last_name});
  const RankedCheckpoint* best = saved_.ranking.best();
  if (owns_best_ && best != nullptr) links.push_back({dir_ / "best", best->name});
  return links;
}

// What another ModelCheckpoint of this run must not take, though it may not be on the disk yet, or not any more.
void ModelCheckpoint::claim_names(const RunContext& run) {
  const auto claim = [&](const std::string& name) { return run.control.claim(dir_ / name, state_key()); };
  for (const RankedCheckpoint& entry : saved_.ranking.entries()) claim(entry.name);
  for (const std::string& name : saved_.obsolete) claim(name);
  if (!saved_.last_name.empty()) claim(saved_.last_name);
  owns_best_ = options_.save_top_k != 0 && claim("best");
}

// A name that is neither on the disk nor on its way there, or that of a folder of our own that goes: the new one takes
// its place in one step. What is kept beside the new one is in saved_.
std::string ModelCheckpoint::choose_name(const RunContext& run, const std::string& pattern, const Saved& before) const {
  const std::string plain =
      format_checkpoint_name(pattern, epoch_, run.state.global_step, run.metrics, options_.auto_insert_metric_name);
  const auto is_ours = [&](const std::string& name) {
    return name == before.newest_name || name == before.last_name || before.ranking.contains(name) ||
           contains(before.obsolete, name);
  };
  const auto is_taken = [&](const std::string& name) {
    if (name == protected_name_ || name == saved_.last_name || saved_.ranking.contains(name)) return true;
    if (is_there(dir_ / name) && !is_ours(name)) return true;
    return !run.control.claim(dir_ / name, state_key());
  };
  std::string name = plain;
  if (run.communicator.rank() == 0) {
    for (int64_t version = 1; name.size() <= kLongestName && is_taken(name); ++version) {
      name = fmt::format("{}-v{}", plain, version);
    }
  }
  name = broadcast_text_from_rank_0(run.communicator, name);
  if (name.size() > kLongestName) {
    throw CheckpointError(fmt::format("[ModelCheckpoint] A name has at most {} bytes, got \"{}\". Shorten filename.",
                                      kLongestName, plain));
  }
  return name;
}

// TrainerControl::go_back_to(): steps that were checked come again, with other weights.
void ModelCheckpoint::notice_step_back(int64_t step) {
  saved_.last_checked_step = std::min(saved_.last_checked_step, step - 1);
  saved_.last_saved_step = std::min(saved_.last_saved_step, step - 1);
  is_due_ = false;
}

// Of one step, an older save may still wait for the end of the hooks; the two are confirmed as one.
void ModelCheckpoint::confirm_older(const RunContext& run) {
  if (saved_.last_saved_step != run.state.global_step) confirm(run);
}

// Finds out whether the newest save has succeeded, the same on all ranks; if it has not, it has never been.
void ModelCheckpoint::confirm(const RunContext& run) {
  if (!before_save_) return;
  std::array<double, 1> is_written = {1.0};
  if (run.communicator.rank() == 0) {
    run.control.last_checkpoint();  // waits for the save, and for what it removes
    is_written[0] = awaited_.is_there() ? 1.0 : 0.0;
  }
  broadcast_from_rank_0(run.communicator, is_written);
  if (is_written[0] == 0.0) {
    const int64_t checked = saved_.last_checked_step;
    saved_ = *std::move(before_save_);
    saved_.last_checked_step = checked;
  }
  awaited_.forget();
  before_save_.reset();
}

}  // namespace levin
