#include "callbacks/weight_averaging.h"

#include "trainer/core/error.h"
#include "trainer/core/lightning_module.h"

namespace levin {

void WeightAveraging::on_fit_start(const RunContext& run) {
  weights_.emplace(run.module, with_buffers_);
  has_average_ = false;
  num_updates_ = 0;
  if (!loaded_.empty()) restore();
}

void WeightAveraging::begin_average() {
  weights_->copy_weights();
  has_average_ = true;
  num_updates_ = 0;
}

void WeightAveraging::update_average(double fraction) {
  weights_->update(fraction);
  ++num_updates_;
}

void WeightAveraging::on_validation_start(const RunContext& /*run*/) {
  if (weights_ && has_average_) weights_->swap_in();
}

void WeightAveraging::on_validation_end(const RunContext& /*run*/) {
  if (weights_) weights_->swap_out();
}

void WeightAveraging::on_train_end(const RunContext& /*run*/) {
  if (weights_ && has_average_) weights_->swap_in();
}

void WeightAveraging::on_exception(const RunContext& /*run*/, const std::exception& /*error*/) noexcept {
  try {
    if (weights_) weights_->swap_out();
  } catch (...) {
    // The device itself has failed; the error under way says so.
  }
}

void WeightAveraging::teardown(const RunContext& /*run*/) {
  weights_.reset();
  has_average_ = false;
  loaded_ = {};
}

void WeightAveraging::on_save_checkpoint(const RunContext& /*run*/, StateDict& model) {
  if (weights_ && has_average_) weights_->replace_in(model);
}

StateDict WeightAveraging::state() const {
  StateDict state;
  const bool is_kept = weights_ && has_average_;
  state.set("has_average", int64_t{is_kept});
  state.set("num_updates", num_updates_);
  if (is_kept) state.merge("", weights_->state());
  return state;
}

void WeightAveraging::load_state(const StateDict& state) {
  loaded_ = state;
  if (weights_) restore();
}

void WeightAveraging::restore() {
  if (loaded_.integer("has_average") != 0) {
    weights_->load_state(loaded_);
    has_average_ = true;
  } else {
    has_average_ = false;
  }
  num_updates_ = loaded_.integer("num_updates");
  loaded_ = {};
}

}  // namespace levin
