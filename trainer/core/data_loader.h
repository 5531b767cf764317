#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "trainer/core/batch.h"
#include "trainer/core/state_dict.h"

namespace levin {

/// What a loader needs to know of the run that it serves.
struct LoaderContext {
  uint64_t seed = 0;  ///< Of the run: the order of an epoch is a function of seed and epoch alone.
  int64_t rank = 0;
  int64_t world_size = 1;
  bool is_in_order = false;  ///< Without shuffling, so that each epoch begins with the same batches.
};

/// Delivers batches, epoch by epoch. Call from one thread. The Trainer calls attach() once, then start_epoch() and
/// next() until the epoch ends or is left early; an epoch left early needs no clean-up by the caller.
class DataLoader {
 public:
  virtual ~DataLoader() = default;

  /// Called once, before the first epoch. Default: nothing.
  virtual void attach(const LoaderContext& context);
  /// Begins epoch `epoch` (from 0) at its first batch.
  virtual void start_epoch(int64_t epoch) = 0;
  /// The next batch, on the CPU; nullopt at the end of the epoch. Errors: DataError, or what the dataset throws.
  virtual std::optional<Batch> next() = 0;
  /// Batches of an epoch on this rank; nullopt if that is not known before the end.
  virtual std::optional<int64_t> num_batches() const = 0;

  /// Samples of a full batch on this rank; nullopt if that is not known.
  virtual std::optional<int64_t> batch_size() const { return std::nullopt; }

  /// Indices in the dataset of the samples that next() has delivered last, in their order; valid until the next call.
  /// Empty if that is not known, which is the default.
  virtual std::span<const int64_t> sample_indices() const { return {}; }

  /// The position: counts batches that next() has delivered. Default: nothing is saved.
  virtual StateDict state() const;
  /// Goes on after the position that state() gave. Errors: CheckpointError if it does not fit this loader.
  virtual void load_state(const StateDict& state);
};

}  // namespace levin
