#pragma once

#include <cstdint>
#include <memory>

#include "trainer/core/option_visitor.h"
#include "trainer/data/collate.h"
#include "trainer/data/sampler.h"

namespace levin {

/// How a DatasetLoader makes batches.
struct LoaderOptions {
  /// Samples of a batch, on each rank.
  int64_t batch_size = 32;
  /// A new order each epoch, from the run's seed and the epoch alone.
  bool shuffle = false;
  /// Leave out a last batch that is not full.
  bool drop_last = false;
  /// Threads that make batches ahead of the training. 0: batches are made when they are asked for, in that thread.
  int64_t num_workers = 0;
  /// Batches that each worker may be ahead.
  int64_t prefetch_factor = 2;
  /// Seconds to wait for a batch of a worker before it counts as hung; 0 waits for ever.
  double timeout = 600.0;
  /// Copy batches into page-locked memory where the run is on a CUDA device, so that their copy to it is asynchronous.
  bool pin_memory = true;

  /// Decides the order in place of `shuffle`. Not an option of YAML; data modules set it.
  std::shared_ptr<const Sampler> sampler = nullptr;
  /// Makes a batch of samples. Default: Dataset::get_batch(). Not an option of YAML; data modules set it.
  Collate collate = nullptr;

  void visit(OptionVisitor& visitor);
};

/// The threads of a loader, for data modules that show them among their own options.
void visit_worker_options(LoaderOptions& options, OptionVisitor& visitor);

}  // namespace levin
