#pragma once

#include <c10/core/Device.h>

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
  /// Every rank must have the same number of batches, as training needs it; samples may be dealt twice for that. False:
  /// each sample is dealt exactly once, as evaluation needs it, and ranks may differ by a batch.
  bool has_equal_ranks = true;
  c10::Device device = c10::kCPU;  ///< Where batches are copied to.
};

/// Delivers batches, epoch by epoch. Call from one thread. The Trainer calls attach() once, then start_epoch() and
/// next() until the epoch ends or is left early, and stop() when it leaves one early or needs the loader no longer.
class DataLoader {
 public:
  virtual ~DataLoader() = default;

  /// Called once, before the first epoch. Default: nothing.
  virtual void attach(const LoaderContext& context);
  /// Begins epoch `epoch` (from 0) at its first batch.
  virtual void start_epoch(int64_t epoch) = 0;
  /// The next batch, on the CPU; nullopt at the end of the epoch. Errors: DataError, or what the dataset throws.
  virtual std::optional<Batch> next() = 0;
  /// Batches of the epoch on this rank, those before the position included; nullopt if that is not known before the
  /// end. One epoch may have more than another, as after a resume with another number of ranks.
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

  /// Ends what goes on in the background: when it returns, no thread of the loader runs. The position stays, so that
  /// next() or start_epoch() go on as if it had not been called. Default: nothing.
  virtual void stop() noexcept {}
};

}  // namespace levin
