#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "trainer/data/sampler.h"

namespace levin {

/// How an epoch's units are dealt among the ranks.
struct ShareOptions {
  int64_t rank = 0;
  int64_t world_size = 1;
  int64_t units_per_batch = 1;  ///< Of one rank.
  /// Leave out what does not fill a batch on every rank.
  bool drop_last = false;
  /// Every rank has the same number of batches, the last of equal size: what is missing is filled from the epoch's
  /// start again, as training needs it. False: every unit is dealt exactly once, and the last batch of a rank may be
  /// smaller or missing, as evaluation needs it.
  bool has_equal_ranks = true;
};

/// The batches of one rank in one epoch, from a position on. In each round every rank takes units_per_batch consecutive
/// units, rank by rank; so after any number of rounds what has been delivered is a prefix of the order, and the rest
/// can be dealt among another number of ranks.
class RankShare {
 public:
  /// The batches that are left once `begin` units of the order, in [0, order->size()], have been delivered.
  RankShare(std::shared_ptr<const EpochOrder> order, int64_t begin, const ShareOptions& options);

  /// Units of the whole epoch.
  int64_t num_units() const { return order_->size(); }
  /// Batches from `begin` on.
  int64_t num_batches() const { return num_batches_; }
  /// The sample indices of batch `index`, counted from `begin`; replaces the contents of `indices`.
  void read(int64_t index, std::vector<int64_t>& indices) const;
  /// Units that all ranks together have delivered after `count` batches each, those before `begin` included.
  int64_t delivered(int64_t count) const;

 private:
  /// Of a round: where this rank's units begin, and how many they are.
  struct Units {
    int64_t begin = 0;
    int64_t size = 0;
  };

  int64_t units_per_round() const { return options_.world_size * options_.units_per_batch; }
  /// Of the last round, which has `rest` units, too few for a full batch on every rank.
  Units last_share(int64_t rest) const;

  std::shared_ptr<const EpochOrder> order_;
  int64_t begin_;
  ShareOptions options_;
  int64_t num_batches_ = 0;
};

}  // namespace levin
