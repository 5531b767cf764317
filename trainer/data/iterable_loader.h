#pragma once

#include <memory>
#include <optional>

#include "trainer/core/data_loader.h"
#include "trainer/data/batch_feed.h"
#include "trainer/data/iterable_dataset.h"
#include "trainer/data/loader_options.h"

namespace levin {

/// Batches of an iterable dataset. Its samples are read in their order, by one thread at a time; with workers, making
/// batches of them goes on in parallel, and reading runs ahead of the training.
///
/// In each round every rank takes batch_size consecutive samples, rank by rank. With several ranks, training leaves out
/// a last round that has no full batch for each of them; evaluation deals it out.
class IterableLoader final : public DataLoader {
 public:
  /// Errors: ConfigError if an option is out of range, or is one of map-style datasets only (shuffle, sampler).
  IterableLoader(std::shared_ptr<const IterableDataset> dataset, LoaderOptions options);
  ~IterableLoader() override;

  void attach(const LoaderContext& context) override;
  void start_epoch(int64_t epoch) override;
  std::optional<Batch> next() override;
  std::optional<int64_t> num_batches() const override;
  std::optional<int64_t> batch_size() const override { return options_.batch_size; }
  StateDict state() const override;
  void load_state(const StateDict& state) override;
  void stop() noexcept override { feed_.reset(); }

 private:
  std::unique_ptr<BatchFeed> make_feed_from_here() const;

  std::shared_ptr<const IterableDataset> dataset_;
  LoaderOptions options_;
  LoaderContext context_;
  int64_t epoch_ = 0;
  int64_t num_batches_ = 0;  // delivered in this epoch
  int64_t num_samples_ = 0;  // delivered in this epoch, by all ranks together
  bool has_ended_ = false;
  std::optional<StateDict> stream_state_;  // after them
  std::unique_ptr<BatchFeed> feed_;        // from the next batch on; nullptr until it is asked for
};

}  // namespace levin
