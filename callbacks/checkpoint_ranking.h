#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace levin {

/// How checkpoints are compared.
enum class RankBy { kSmallest, kLargest, kNewest };

struct RankedCheckpoint {
  std::string name;                            ///< Folder.
  std::optional<double> score = std::nullopt;  ///< nullopt: none, or not a number.
};

/// Keeps the best `top_k` checkpoints (-1: all). A new one replaces the worst only if it is strictly better; of two
/// equals the older one is better. One without a score is worse than any with one, and never the best, except with
/// kNewest, which compares age alone. Knows no files.
class CheckpointRanking {
 public:
  CheckpointRanking(RankBy rank_by, int64_t top_k) : rank_by_(rank_by), top_k_(top_k) {}

  /// True if a checkpoint with this score would be kept.
  bool accepts(std::optional<double> score) const;
  /// Adds it, which accepts() must allow, and drops the worst if there are too many.
  void add(RankedCheckpoint checkpoint);
  /// Gives the one of that name, if it is there, another.
  void rename(const std::string& name, const std::string& new_name);
  /// nullptr if there is none.
  const RankedCheckpoint* best() const;
  bool contains(const std::string& name) const;
  /// Those that are kept, from old to new.
  const std::vector<RankedCheckpoint>& entries() const { return entries_; }
  void clear() { entries_.clear(); }

 private:
  bool is_better(const std::optional<double>& a, const std::optional<double>& b) const;
  size_t worst_index() const;

  RankBy rank_by_;
  int64_t top_k_;
  std::vector<RankedCheckpoint> entries_;
};

}  // namespace levin
