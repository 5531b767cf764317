#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "trainer/core/batch.h"
#include "trainer/core/state_dict.h"
#include "trainer/data/sample_random.h"

namespace levin {

/// One pass over an iterable dataset. The loader calls it from one thread at a time, not always the same.
class SampleStream {
 public:
  virtual ~SampleStream() = default;
  /// The next sample, on the CPU, without a batch dimension; nullopt at the end.
  virtual std::optional<Batch> next() = 0;
  /// Passes over up to `count` samples: those of other ranks, and those that came before a checkpoint. Returns how many
  /// there were. Default: reads them. Override it where a sample need not be read to be skipped.
  virtual int64_t skip(int64_t count);
  /// Where the stream is, for a resume that reads nothing twice; nullopt (the default): it is resumed by skip().
  virtual std::optional<StateDict> state() const { return std::nullopt; }
  /// Goes on where state() was taken. Called before the first next(). Errors: CheckpointError if it does not fit.
  virtual void load_state(const StateDict& state);
};

/// Samples that come one after the other: a log, a socket, files too large to know their length. The sequence is a
/// function of SampleRandom alone and the same on every rank; the loader gives each rank its share, and counts what it
/// has delivered.
class IterableDataset {
 public:
  virtual ~IterableDataset() = default;
  /// Begins the pass of an epoch.
  virtual std::unique_ptr<SampleStream> open(const SampleRandom& random) const = 0;
  /// Samples of an epoch; nullopt (the default) if that is not known.
  virtual std::optional<int64_t> size() const { return std::nullopt; }
};

}  // namespace levin
