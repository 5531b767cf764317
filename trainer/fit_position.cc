#include "trainer/fit_position.h"

namespace levin {

StateDict FitPosition::state() const {
  StateDict state;
  state.set("total_batches", total_batches);
  state.set("validated_batch", validated_batch);
  state.set("is_epoch_over", static_cast<int64_t>(is_epoch_over));
  state.set("is_epoch_cut", static_cast<int64_t>(is_epoch_cut));
  state.set("is_cut_epoch_closed", static_cast<int64_t>(is_cut_epoch_closed));
  state.set("accumulate_grad_batches", accumulate_grad_batches);
  state.set("micro_batch_limit", micro_batch_limit);
  state.set("seconds", seconds);
  state.set("window.size", window.size());
  state.set("window.count", window.count());
  state.set("window.expected", window.expected());
  state.set("window.total", window.total());
  return state;
}

void FitPosition::load_state(const StateDict& state) {
  total_batches = state.integer("total_batches");
  validated_batch = state.integer("validated_batch");
  is_epoch_over = state.integer("is_epoch_over") != 0;
  is_epoch_cut = state.integer("is_epoch_cut") != 0;
  is_cut_epoch_closed = state.contains("is_cut_epoch_closed") && state.integer("is_cut_epoch_closed") != 0;
  accumulate_grad_batches = state.integer("accumulate_grad_batches");
  micro_batch_limit = state.contains("micro_batch_limit") ? state.integer("micro_batch_limit") : 0;
  seconds = state.real("seconds");
  window.restore(state.integer("window.size"), state.integer("window.count"), state.real("window.expected"),
                 state.real("window.total"));
}

}  // namespace levin
