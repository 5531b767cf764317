#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "trainer/core/data_loader.h"
#include "trainer/data/batch_feed.h"
#include "trainer/data/dataset.h"
#include "trainer/data/loader_options.h"
#include "trainer/data/rank_share.h"

namespace levin {

/// Batches of a map-style dataset: in order, shuffled, or as a sampler says, made in the training's thread or ahead in
/// workers.
///
/// What has been delivered is a prefix of the epoch's order, so that a saved position is one number: it holds for any
/// number of workers, ranks and samples of a batch. Those not yet seen are dealt anew.
class DatasetLoader final : public DataLoader {
 public:
  /// Errors: ConfigError if an option is out of range; DataError if the dataset is empty, or has no full batch and
  /// drop_last is set.
  DatasetLoader(std::shared_ptr<const Dataset> dataset, LoaderOptions options);
  ~DatasetLoader() override;
  DatasetLoader(DatasetLoader&&) noexcept;

  void attach(const LoaderContext& context) override;
  void start_epoch(int64_t epoch) override;
  std::optional<Batch> next() override;
  std::optional<int64_t> num_batches() const override;
  std::optional<int64_t> batch_size() const override;
  std::span<const int64_t> sample_indices() const override { return sample_indices_; }
  StateDict state() const override;
  void load_state(const StateDict& state) override;
  void stop() noexcept override;

 private:
  /// Goes to the position in `epoch` after `num_units` of the order, which this rank had `num_batches` of.
  void go_to(int64_t epoch, int64_t num_units, int64_t num_batches);
  std::shared_ptr<const EpochOrder> make_order(int64_t epoch) const;
  std::unique_ptr<BatchFeed> make_feed_from_here() const;

  std::shared_ptr<const Dataset> dataset_;
  LoaderOptions options_;
  std::shared_ptr<const Sampler> sampler_;
  LoaderContext context_;
  std::shared_ptr<const RankShare> share_;  // of the current epoch, from where it was begun or resumed
  int64_t epoch_ = 0;
  int64_t num_before_ = 0;     // batches of this epoch that came before the share
  int64_t num_delivered_ = 0;  // batches of the share that next() has delivered
  std::vector<int64_t> sample_indices_;
  std::unique_ptr<BatchFeed> feed_;  // from the next batch on; nullptr until it is asked for
};

}  // namespace levin
