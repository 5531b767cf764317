#pragma once

#include "trainer/core/communicator.h"
#include "trainer/core/state_dict.h"

namespace levin {

/// Gathers what it needs from many batches, for a value over all of them that is no mean of the batches' values. Each
/// class has its own update(). A module keeps its metrics as members, one for each stage and name.
class Metric {
 public:
  virtual ~Metric() = default;

  /// Forgets everything seen.
  virtual void reset() = 0;

  /// What was seen since reset() on this rank, exact: integers, or sums in double. Tensors are copies, where they are.
  virtual StateDict state() const = 0;
  /// Adds what state() of another metric of the same class and options holds, as if it had been seen here.
  /// Errors: CheckpointError if it does not fit; nothing has changed then.
  virtual void merge_state(const StateDict& state) = 0;
  /// Replaces what was seen by what state() returned: the same bits. Errors: as merge_state; empty then.
  void load_state(const StateDict& state) {
    reset();
    merge_state(state);
  }

 protected:
  Metric() = default;
  Metric(const Metric&) = default;
  Metric& operator=(const Metric&) = default;
};

/// A metric whose result is one number, which StepContext::log takes.
class ScalarMetric : public Metric {
 public:
  /// The value over everything seen since reset(), over all ranks; NaN if nothing was seen. Collective: the same calls
  /// with the same shapes on every rank, whatever the rank has seen; reduces CPU tensors of int64 and double, where
  /// zeros in a sum stand for a rank that saw nothing. Synchronises the device.
  virtual double compute(Communicator& communicator) const = 0;
};

}  // namespace levin
