#include "callbacks/loss_guard.h"

#include <ATen/ops/from_blob.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "callbacks/check_options.h"
#include "callbacks/gradient_norm.h"
#include "trainer/core/lightning_module.h"

namespace levin {
namespace {

void reduce(Communicator& communicator, std::vector<double>& values, ReduceOp op) {
  if (communicator.world_size() == 1 || values.empty()) return;
  at::Tensor packed = at::from_blob(values.data(), {static_cast<int64_t>(values.size())}, at::kDouble);
  communicator.all_reduce(packed, op);
}

SpikeWindow::Limits limits_of(const LossGuard::Options& options) {
  return {.size = options.window, .warmup = options.warmup, .num_std = options.num_std, .ratio = options.ratio};
}

// 0 if the module has no gradients.
double gradient_norm(const torch::nn::Module& module) {
  const NamedGradients gradients = gradients_of(module);
  return gradients.tensors.empty() ? 0.0 : total_norm(norms_of(gradients.tensors, 2.0), 2.0).item<double>();
}

// The numbers of scalar tensors in one read; undefined ones are left out.
std::vector<double> read(const std::vector<at::Tensor>& scalars) {
  std::vector<at::Tensor> defined;
  for (const at::Tensor& scalar : scalars) {
    if (scalar.defined()) defined.push_back(scalar.reshape({}).to(at::kDouble));
  }
  if (defined.empty()) return {};
  const at::Tensor values = at::stack(defined).cpu();
  return {values.const_data_ptr<double>(), values.const_data_ptr<double>() + values.numel()};
}

}  // namespace

void LossGuard::Options::visit(OptionVisitor& visitor) {
  visitor.field("policy", policy, "what a bad value leads to", one_of({"stop", "skip", "go_back"}));
  visitor.field("window", window, "values of which mean and standard deviation are taken", at_least(2));
  visitor.field("warmup", warmup, "values before a finite one may be a spike; at most `window`", at_least(2));
  visitor.field("num_std", num_std, "standard deviations above the mean that make a spike; null: they do not count",
                above(0));
  visitor.field("ratio", ratio, "ratio to the mean that makes a spike; null: it does not count", above(1));
  visitor.field("check_gradients", check_gradients, "watch the norm of the gradients as well");
  visitor.field("check_every_n_batches", check_every_n_batches,
                "micro-batches between two checks, each of which waits for the device", at_least(1));
  visitor.field("max_times", max_times, "bad values in a row before the run ends (skip, go_back)", at_least(1));
}

LossGuard::LossGuard(const Options& options)
    : options_(options), losses_(limits_of(options)), norms_(limits_of(options)) {
  check_options("LossGuard", options_);
  std::vector<std::string> problems;
  if (options_.warmup > options_.window) {
    problems.push_back(fmt::format("warmup must be <= window, which is {}, got {}", options_.window, options_.warmup));
  }
  if (skips() && options_.check_every_n_batches != 1) {
    problems.push_back(
        fmt::format("check_every_n_batches must be 1 with the policy skip, which decides before each "
                    "step, got {}",
                    options_.check_every_n_batches));
  }
  throw_if_any("LossGuard", problems);
}

void LossGuard::on_train_start(const RunContext& run) {
  is_training_ = true;
  is_loss_scaled_ = run.options.precision == "16-mixed";
  if (skips() && is_loss_scaled_ && !options_.check_gradients) {
    throw ConfigError(
        "[LossGuard] check_gradients must be true with the policy skip and the precision 16-mixed, got false. The loss "
        "is scaled there, so that spikes show in the gradients only.");
  }
  step_loss_.reset();
}

void LossGuard::on_train_batch_start(const RunContext& run, const Batch& /*batch*/) {
  batch_idx_ = run.state.batch_idx;
}

void LossGuard::on_before_backward(const RunContext& /*run*/, const at::Tensor& loss) {
  if (skips()) step_loss_ = step_loss_.defined() ? step_loss_ + loss.detach() : loss.detach();
}

void LossGuard::on_before_optimizer_step(const RunContext& run) {
  if (skips()) return judge_step(run);
  if (options_.check_gradients && run.state.global_step % options_.check_every_n_batches == 0) judge_gradients(run);
}

void LossGuard::on_before_zero_grad(const RunContext& /*run*/) { step_loss_.reset(); }

void LossGuard::on_train_batch_end(const RunContext& run, const StepOutput& output, const Batch& /*batch*/) {
  if (skips()) return;
  at::Tensor loss;
  if (!output.is_skip())
    loss = output.is_weighted() ? output.loss().detach() / output.weight() : output.loss().detach();
  pending_.push_back(std::move(loss));
  places_.push_back({run.state.epoch, batch_idx_, run.state.global_step});
  // Counted with those that have no loss, so that all ranks come here together.
  if (static_cast<int64_t>(pending_.size()) >= options_.check_every_n_batches) judge_losses(run);
}

void LossGuard::on_train_epoch_end(const RunContext& run) { judge_losses(run); }

void LossGuard::teardown(const RunContext& /*run*/) {
  is_training_ = false;
  pending_.clear();
  places_.clear();
  step_loss_.reset();
}

void LossGuard::judge_step(const RunContext& run) {
  const Place place{run.state.epoch, batch_idx_, run.state.global_step};
  const std::vector<double> loss = read({step_loss_});
  step_loss_.reset();
  std::vector<double> values = {loss.empty() ? 0.0 : loss[0]};
  if (options_.check_gradients) values.push_back(gradient_norm(run.module));
  reduce(run.communicator, values, ReduceOp::kMean);
  // A scale that doubles looks like a spike, so a scaled loss never enters the window.
  const bool is_judged = !is_loss_scaled_ || !std::isfinite(values[0]);
  if (is_judged && judge(run, "The loss of the step", values[0], place, losses_)) return;
  if (options_.check_gradients && judge(run, "The gradient norm", values[1], place, norms_)) return;
  times_in_a_row_ = 0;
}

void LossGuard::judge_gradients(const RunContext& run) {
  std::vector<double> norm = {gradient_norm(run.module)};
  reduce(run.communicator, norm, ReduceOp::kMean);
  const Place place{run.state.epoch, batch_idx_, run.state.global_step};
  // The step would damage weights that are about to be replaced, and a checkpoint of it could be the next to go to.
  if (judge(run, "The gradient norm", norm[0], place, norms_)) run.control.skip_optimizer_step();
}

void LossGuard::judge_losses(const RunContext& run) {
  const std::vector<double> losses = read(pending_);
  std::vector<double> sums;  // for each batch: sum over the ranks, and number of ranks that have a loss
  size_t next = 0;
  for (const at::Tensor& loss : pending_) {
    sums.push_back(loss.defined() ? losses[next++] : 0.0);
    sums.push_back(loss.defined() ? 1.0 : 0.0);
  }
  const std::vector<Place> places = std::move(places_);
  pending_.clear();
  places_.clear();
  reduce(run.communicator, sums, ReduceOp::kSum);
  for (size_t i = 0; i < places.size(); ++i) {
    if (sums[2 * i + 1] == 0.0) continue;
    if (judge(run, "The loss", sums[2 * i] / sums[2 * i + 1], places[i], losses_)) return;
    if (places[i].step > trigger_step_) times_in_a_row_ = 0;
  }
}

bool LossGuard::judge(const RunContext& run, const char* what, double value, const Place& place, SpikeWindow& window) {
  if (!window.is_spike(value)) {
    window.add(value);
    return false;
  }
  trigger(run,
          fmt::format("{} must be finite and near the values before it, got {:.6g} in batch {} of epoch {} after {} "
                      "optimizer steps; the mean of the last {} values is {:.6g}, their standard deviation {:.6g}.",
                      what, value, place.batch_idx, place.epoch, place.step, window.size(), window.mean(),
                      window.standard_deviation()),
          place);
  return true;
}

void LossGuard::trigger(const RunContext& run, const std::string& problem, const Place& place) {
  if (options_.policy == "stop") {
    throw DivergenceError(
        fmt::format("[LossGuard] {} Look at this batch, lower the learning rate, or clip gradients.", problem));
  }
  ++num_triggers_;
  run.control.log("loss_guard_triggers", static_cast<double>(num_triggers_),
                  {.on_step = false, .on_epoch = true, .reduce = Reduce::kMax});
  if (++times_in_a_row_ > options_.max_times) {
    throw DivergenceError(fmt::format("[LossGuard] {} This is time {} in a row, and max_times is {}.", problem,
                                      times_in_a_row_, options_.max_times));
  }
  if (skips()) return run.control.skip_optimizer_step();
  const std::optional<std::filesystem::path> checkpoint = run.control.last_checkpoint();
  if (!checkpoint) {
    throw DivergenceError(fmt::format(
        "[LossGuard] {} There is no checkpoint to go back to yet. Save them more often (every_n_train_steps of "
        "ModelCheckpoint).",
        problem));
  }
  trigger_step_ = std::max(trigger_step_, place.step);
  run.control.go_back_to(*checkpoint);
}

StateDict LossGuard::state() const {
  StateDict state;
  state.merge("losses.", losses_.state());
  state.merge("norms.", norms_.state());
  state.set("times_in_a_row", times_in_a_row_);
  state.set("num_triggers", num_triggers_);
  state.set("trigger_step", trigger_step_);
  const std::vector<double> losses = read(pending_);
  size_t next = 0;
  for (size_t i = 0; i < pending_.size(); ++i) {
    const std::string prefix = fmt::format("pending.{}.", i);
    state.set(prefix + "epoch", places_[i].epoch);
    state.set(prefix + "batch_idx", places_[i].batch_idx);
    state.set(prefix + "step", places_[i].step);
    if (pending_[i].defined()) state.set(prefix + "loss", at::zeros({}, at::kDouble).fill_(losses[next++]));
  }
  return state;
}

void LossGuard::load_state(const StateDict& state) {
  if (is_training_) return;
  losses_.load_state(state.under("losses."));
  norms_.load_state(state.under("norms."));
  times_in_a_row_ = state.integer("times_in_a_row");
  num_triggers_ = state.integer("num_triggers");
  trigger_step_ = state.integer("trigger_step");
  pending_.clear();
  places_.clear();
  for (int64_t i = 0; state.contains(fmt::format("pending.{}.step", i)); ++i) {
    const StateDict entry = state.under(fmt::format("pending.{}.", i));
    places_.push_back({entry.integer("epoch"), entry.integer("batch_idx"), entry.integer("step")});
    pending_.push_back(entry.contains("loss") ? entry.tensor("loss") : at::Tensor());
  }
}

}  // namespace levin
