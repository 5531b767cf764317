#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "trainer/data/batch_feed.h"

namespace levin {

/// Worker threads make batches ahead, at most num_workers * prefetch_factor of them; next() hands them over in order.
///
/// A worker computes with one thread and blocks all signals, which are meant for the run.
class Prefetcher final : public BatchFeed {
 public:
  /// num_workers, prefetch_factor >= 1. The threads start at the first next().
  Prefetcher(std::shared_ptr<BatchSource> source, const FeedOptions& options);
  /// Waits until each worker has done with its batch, or `timeout` has passed for one that hangs.
  ~Prefetcher() override;

  std::optional<LoadedBatch> next() override;

 private:
  struct Shared;
  class Worker;

  void start();
  [[noreturn]] void throw_timed_out();

  FeedOptions options_;
  std::shared_ptr<Shared> shared_;  // with the threads, which a hung one outlives
  std::vector<std::thread> threads_;
  int64_t hung_worker_ = -1;  // which has let the timeout pass
};

}  // namespace levin
