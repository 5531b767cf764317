#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "trainer/core/batch.h"
#include "trainer/core/state_dict.h"

namespace levin {

/// What one batch is made of.
struct BatchRequest {
  int64_t number = 0;            ///< Of the batch, from 0 where the feed began.
  std::vector<int64_t> indices;  ///< Of a map-style dataset.
  std::vector<Batch> samples;    ///< Of an iterable dataset.
  int64_t num_samples = 0;       ///< Of an iterable dataset: those of all ranks in this round.
  /// Where the stream of an iterable dataset was after this batch, if it can say so.
  std::optional<StateDict> stream_state;
};

/// The two halves of making a batch. Errors of both: whatever the dataset throws.
class BatchSource {
 public:
  virtual ~BatchSource() = default;
  /// Fills `request` (whose number is set) with what the batch is made of. Called once for each batch in their order,
  /// by one thread at a time. False at the end of the epoch.
  virtual bool claim(BatchRequest& request) = 0;
  /// Makes the batch; called by several threads at a time.
  virtual Batch make(const BatchRequest& request) const = 0;
};

/// A batch with what it was made of.
struct LoadedBatch {
  Batch batch;
  BatchRequest request;
};

/// How a feed works, see LoaderOptions.
struct FeedOptions {
  std::string name;         ///< Of the loader, for error texts.
  int64_t first_batch = 0;  ///< Of the epoch's batches the one that the feed begins with, for error texts.
  int64_t num_workers = 0;
  int64_t prefetch_factor = 2;
  double timeout = 0.0;
};

/// Delivers the batches of a source in their order. Errors of next(): DataError that names the batch, its samples and
/// the worker, with what the dataset has thrown nested in it; DataError after the timeout. The feed is over then.
class BatchFeed {
 public:
  virtual ~BatchFeed() = default;
  /// The next batch; nullopt at the end.
  virtual std::optional<LoadedBatch> next() = 0;
};

/// A feed that makes batches in the calling thread, or ahead in threads of its own, which end with it. A thread that
/// hangs in the dataset is left behind after the timeout; it keeps `source` alive.
std::unique_ptr<BatchFeed> make_feed(std::shared_ptr<BatchSource> source, const FeedOptions& options);

/// Rethrows what is caught as a DataError with the error nested in it. where: "worker 2 of 4", or "".
[[noreturn]] void throw_batch_failed(const FeedOptions& options, const std::string& where, const BatchRequest& request);

/// "samples 3, 8, 1 and 125 more", or "" if there are none.
std::string describe_samples(std::span<const int64_t> indices);

}  // namespace levin
