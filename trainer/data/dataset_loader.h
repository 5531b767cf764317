#pragma once

#include <memory>
#include <vector>

#include "trainer/core/data_loader.h"
#include "trainer/core/option_visitor.h"
#include "trainer/data/dataset.h"

namespace levin {

/// How a DatasetLoader makes batches.
struct LoaderOptions {
  int64_t batch_size = 32;
  /// A new order each epoch, from the run's seed and the epoch alone.
  bool shuffle = false;
  /// Leave out a last batch that is not full.
  bool drop_last = false;
};

/// Batches of a map-style dataset, in order or shuffled.
class DatasetLoader final : public DataLoader {
 public:
  /// Errors: ConfigError if batch_size < 1; DataError if the dataset is empty, or has no full batch and drop_last is
  /// set.
  DatasetLoader(std::shared_ptr<const Dataset> dataset, LoaderOptions options);

  void attach(const LoaderContext& context) override { context_ = context; }
  void start_epoch(int64_t epoch) override;
  std::optional<Batch> next() override;
  std::optional<int64_t> num_batches() const override;
  std::optional<int64_t> batch_size() const override { return options_.batch_size; }
  std::span<const int64_t> sample_indices() const override;
  StateDict state() const override;
  void load_state(const StateDict& state) override;

 private:
  std::span<const int64_t> indices_of(int64_t batch) const;

  std::shared_ptr<const Dataset> dataset_;
  LoaderOptions options_;
  LoaderContext context_;
  std::vector<int64_t> order_;  // of the current epoch
  int64_t epoch_ = 0;
  int64_t next_batch_ = 0;  // batches delivered in this epoch
};

}  // namespace levin
