#include "callbacks/checkpoint_ranking.h"

#include <algorithm>
#include <utility>

namespace levin {

bool CheckpointRanking::is_better(const std::optional<double>& a, const std::optional<double>& b) const {
  if (!a || !b) return a.has_value() && !b;
  return rank_by_ == RankBy::kSmallest ? *a < *b : *a > *b;
}

size_t CheckpointRanking::worst_index() const {
  if (rank_by_ == RankBy::kNewest) return 0;
  size_t worst = 0;
  for (size_t i = 1; i < entries_.size(); ++i) {
    // The newer of two equals is the worse one.
    if (!is_better(entries_[i].score, entries_[worst].score)) worst = i;
  }
  return worst;
}

bool CheckpointRanking::accepts(std::optional<double> score) const {
  if (top_k_ < 0 || static_cast<int64_t>(entries_.size()) < top_k_) return true;
  if (top_k_ == 0) return false;
  return rank_by_ == RankBy::kNewest || is_better(score, entries_[worst_index()].score);
}

void CheckpointRanking::add(RankedCheckpoint checkpoint) {
  if (top_k_ >= 0 && static_cast<int64_t>(entries_.size()) >= top_k_) {
    entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(worst_index()));
  }
  entries_.push_back(std::move(checkpoint));
}

void CheckpointRanking::rename(const std::string& name, const std::string& new_name) {
  for (RankedCheckpoint& entry : entries_) {
    if (entry.name == name) entry.name = new_name;
  }
}

const RankedCheckpoint* CheckpointRanking::best() const {
  if (entries_.empty()) return nullptr;
  if (rank_by_ == RankBy::kNewest) return &entries_.back();
  const RankedCheckpoint* best = nullptr;
  for (const RankedCheckpoint& entry : entries_) {
    if (entry.score && (best == nullptr || is_better(entry.score, best->score))) best = &entry;
  }
  return best;
}

bool CheckpointRanking::contains(const std::string& name) const {
  return std::any_of(entries_.begin(), entries_.end(), [&](const RankedCheckpoint& e) { return e.name == name; });
}

}  // namespace levin
