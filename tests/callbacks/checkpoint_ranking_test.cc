#include "callbacks/checkpoint_ranking.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

namespace levin {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr std::optional<double> kNone = std::nullopt;

struct Case {
  const char* what;
  RankBy rank_by;
  int64_t top_k;
  std::vector<std::optional<double>> scores;  // of the checkpoints "1", "2", ...
  std::vector<std::string> kept;              // from old to new
  std::string best;                           // "" for none
};

const std::vector<Case> kCases = {
    {"B21: the smallest of 3, 1, 2", RankBy::kSmallest, 1, {3.0, 1.0, 2.0}, {"2"}, "2"},
    {"the largest", RankBy::kLargest, 1, {3.0, 1.0, 2.0}, {"1"}, "1"},
    {"two of three", RankBy::kLargest, 2, {1.0, 3.0, 2.0}, {"2", "3"}, "2"},
    {"fewer than k", RankBy::kLargest, 5, {1.0, 3.0}, {"1", "2"}, "2"},
    {"a tie loses", RankBy::kLargest, 1, {0.5, 0.5}, {"1"}, "1"},
    {"of two equals the newer one goes", RankBy::kLargest, 2, {0.5, 0.5, 0.6}, {"1", "3"}, "3"},
    {"of two equals the older one is the best", RankBy::kLargest, 2, {0.5, 0.5}, {"1", "2"}, "1"},
    {"no score is never the best", RankBy::kSmallest, 1, {kNone}, {"1"}, ""},
    {"no score goes first", RankBy::kSmallest, 2, {kNone, 2.0, 1.0}, {"2", "3"}, "3"},
    {"no score replaces nothing", RankBy::kSmallest, 1, {2.0, kNone}, {"1"}, "1"},
    {"no score does not replace another", RankBy::kSmallest, 1, {kNone, kNone}, {"1"}, ""},
    {"infinity is worse than a number", RankBy::kSmallest, 1, {kInf, 7.0}, {"2"}, "2"},
    {"all", RankBy::kSmallest, -1, {1.0, kNone, 3.0}, {"1", "2", "3"}, "1"},
    {"none", RankBy::kSmallest, 0, {1.0, 2.0}, {}, ""},
    {"the newest", RankBy::kNewest, 1, {kNone, kNone, kNone}, {"3"}, "3"},
    {"all, of which the newest is the best", RankBy::kNewest, -1, {kNone, kNone}, {"1", "2"}, "2"},
    {"none without a score", RankBy::kNewest, 0, {kNone}, {}, ""},
};

TEST(CheckpointRankingTest, KeepsTheBest) {
  for (const Case& c : kCases) {
    CheckpointRanking ranking(c.rank_by, c.top_k);
    for (size_t i = 0; i < c.scores.size(); ++i) {
      if (ranking.accepts(c.scores[i])) ranking.add({std::to_string(i + 1), c.scores[i]});
    }
    std::vector<std::string> kept;
    for (const RankedCheckpoint& entry : ranking.entries()) kept.push_back(entry.name);
    EXPECT_EQ(kept, c.kept) << c.what;
    EXPECT_EQ(ranking.best() == nullptr ? "" : ranking.best()->name, c.best) << c.what;
  }
}

TEST(CheckpointRankingTest, ContainsWhatItKeeps) {
  CheckpointRanking ranking(RankBy::kLargest, 1);
  ranking.add({"a", 1.0});
  ranking.add({"b", 2.0});
  EXPECT_FALSE(ranking.contains("a"));
  EXPECT_TRUE(ranking.contains("b"));
}

}  // namespace
}  // namespace levin
