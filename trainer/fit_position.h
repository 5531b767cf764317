#pragma once

#include <cstdint>

#include "trainer/core/state_dict.h"
#include "trainer/loss_window.h"

namespace levin {

/// Where a fit stands between two micro-batches, beside TrainerState: what a checkpoint needs so that a resumed fit
/// does next what this one would have done.
struct FitPosition {
  int64_t total_batches = 0;     ///< Micro-batches done over all epochs.
  int64_t validated_batch = -1;  ///< Value of total_batches at the last validation.
  bool is_epoch_over = false;    ///< The epoch is done, its hooks and rows included.
  bool is_epoch_cut = false;     ///< on_train_batch_start asked to leave out the rest of the epoch.
  /// on_train_epoch_end and its rows are done, though the epoch is not over: the fit ended within it.
  bool is_cut_epoch_closed = false;
  bool is_stop_requested = false;       ///< Not in a checkpoint: those who asked are asked anew.
  int64_t accumulate_grad_batches = 1;  ///< Size of the next window.
  int64_t micro_batch_limit = 0;        ///< What automatic micro-batching has found; 0: everything fitted.
  double seconds = 0.0;                 ///< Training time, over all resumed parts.
  LossWindow window;

  StateDict state() const;
  /// Errors: CheckpointError if an entry is missing.
  void load_state(const StateDict& state);
};

}  // namespace levin
