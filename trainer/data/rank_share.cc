#include "trainer/data/rank_share.h"

#include <algorithm>
#include <utility>

namespace levin {

RankShare::RankShare(std::shared_ptr<const EpochOrder> order, int64_t begin, const ShareOptions& options)
    : order_(std::move(order)), begin_(begin), options_(options) {
  // More than all there is means the same however much it is, and must not overflow.
  options_.units_per_batch = std::min(options_.units_per_batch, order_->size() + 1);
  const int64_t left = order_->size() - begin_;
  const int64_t num_full = left / units_per_round();
  const int64_t rest = left % units_per_round();
  num_batches_ = num_full + (rest > 0 && !options_.drop_last && last_share(rest).size > 0 ? 1 : 0);
}

RankShare::Units RankShare::last_share(int64_t rest) const {
  if (options_.has_equal_ranks) {
    const int64_t size = (rest + options_.world_size - 1) / options_.world_size;
    return {options_.rank * size, size};
  }
  // As even as can be, in order: the first ranks have one more.
  const int64_t size = rest / options_.world_size;
  const int64_t num_longer = rest % options_.world_size;
  return {options_.rank * size + std::min(options_.rank, num_longer), size + (options_.rank < num_longer ? 1 : 0)};
}

void RankShare::read(int64_t index, std::vector<int64_t>& indices) const {
  indices.clear();
  const int64_t round_begin = begin_ + index * units_per_round();
  const int64_t left = order_->size() - round_begin;
  const Units units = left >= units_per_round()
                          ? Units{options_.rank * options_.units_per_batch, options_.units_per_batch}
                          : last_share(left);
  for (int64_t i = 0; i < units.size; ++i) {
    order_->read((round_begin + units.begin + i) % order_->size(), indices);
  }
}

int64_t RankShare::delivered(int64_t count) const {
  return std::min(begin_ + count * units_per_round(), order_->size());
}

}  // namespace levin
