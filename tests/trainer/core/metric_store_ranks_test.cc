#include <ATen/ops/full.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "tests/trainer/core/error_text.h"
#include "tests/trainer/core/fake_metric.h"
#include "tests/trainer/core/thread_ranks.h"
#include "trainer/core/error.h"
#include "trainer/core/metric_store.h"

namespace levin {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

using LogOnRank = std::function<void(MetricStore&, int64_t rank)>;
using Errors = std::vector<std::string>;

// The epoch's metrics of each rank.
std::vector<Metrics> epoch_of_ranks(ThreadRanks& ranks, int64_t world_size, const LogOnRank& log_on_rank) {
  std::vector<Metrics> result(static_cast<size_t>(world_size));
  const Errors errors = ranks.run([&](Communicator& communicator) {
    MetricStore store(Stage::kValidate);
    log_on_rank(store, communicator.rank());
    result[static_cast<size_t>(communicator.rank())] = store.epoch_metrics(communicator);
  });
  EXPECT_EQ(errors, Errors(static_cast<size_t>(world_size)));
  return result;
}

std::vector<Metrics> epoch_of_ranks(int64_t world_size, const LogOnRank& log_on_rank) {
  ThreadRanks ranks(world_size);
  return epoch_of_ranks(ranks, world_size, log_on_rank);
}

TEST(MetricStoreRanksTest, SumsAndWeightsAreReducedAndDividedOnce) {
  // B3: rank 0 has 3 samples of 1.0, rank 1 has 2 of 0.0: 3 / 5.
  for (const Metrics& metrics : epoch_of_ranks(2, [](MetricStore&store, int64_t rank) {
         store.log("acc", rank == 0 ? 1.0 : 0.0, {}, rank == 0 ? 3.0 : 2.0);
       })) {
    EXPECT_EQ(metrics.find("acc"), 0.6);
  }
}

TEST(MetricStoreRanksTest, TheResultDoesNotDependOnTheNumberOfRanks) {
  // B6: 5 samples, one of them right: 0.2, however they are dealt out.
  for (int64_t world_size = 1; world_size <= 8; ++world_size) {
    for (const Metrics& metrics : epoch_of_ranks(world_size, [&](MetricStore&store, int64_t rank) {
           for (int64_t sample = rank; sample < 5; sample += world_size) {
             store.log("acc", sample == 0 ? 1.0 : 0.0, {}, 1.0);
           }
         })) {
      EXPECT_EQ(metrics.find("acc"), 0.2) << world_size;
    }
  }
}

TEST(MetricStoreRanksTest, ARankThatLoggedNothingTakesPart) {
  for (const Reduce reduce : {Reduce::kMean, Reduce::kSum, Reduce::kMin, Reduce::kMax}) {
    for (const Metrics& metrics : epoch_of_ranks(3, [&](MetricStore&store, int64_t rank) {
           if (rank == 1) store.log("x", -5.0, {.reduce = reduce}, 3.0);
         })) {
      EXPECT_EQ(metrics.find("x"), -5.0) << static_cast<int>(reduce);
    }
  }
}

TEST(MetricStoreRanksTest, NothingLoggedAnywhereIsEmpty) {
  for (const Metrics& metrics : epoch_of_ranks(2, [](MetricStore&, int64_t) {})) EXPECT_TRUE(metrics.empty());
  for (const Metrics& metrics : epoch_of_ranks(2, [](MetricStore&store, int64_t) { store.log("x", kNaN, {}, 0.0); })) {
    EXPECT_TRUE(metrics.empty());
  }
}

TEST(MetricStoreRanksTest, EachReductionIsThatOfAllRanks) {
  for (const Metrics& metrics : epoch_of_ranks(3, [](MetricStore&store, int64_t rank) {
         const std::vector<double> values = {2.0, -1.0, 7.0};
         for (const auto& [name, reduce] : {std::pair("sum", Reduce::kSum), std::pair("min", Reduce::kMin),
                                            std::pair("max", Reduce::kMax), std::pair("mean", Reduce::kMean)}) {
           store.log(name, values[static_cast<size_t>(rank)], {.reduce = reduce}, rank == 0 ? 2.0 : 1.0);
         }
       })) {
    EXPECT_EQ(metrics.find("sum"), 8.0);
    EXPECT_EQ(metrics.find("min"), -1.0);
    EXPECT_EQ(metrics.find("max"), 7.0);
    EXPECT_EQ(metrics.find("mean"), 2.5);  // (2 * 2 - 1 + 7) / 4
  }
}

TEST(MetricStoreRanksTest, NaNOfOneRankStaysVisible) {
  for (const Reduce reduce : {Reduce::kMean, Reduce::kSum, Reduce::kMin, Reduce::kMax}) {
    for (int64_t nan_rank = 0; nan_rank < 2; ++nan_rank) {
      for (const Metrics& metrics : epoch_of_ranks(2, [&](MetricStore&store, int64_t rank) {
             store.log("x", rank == nan_rank ? kNaN : 1.0, {.reduce = reduce}, 1.0);
           })) {
        EXPECT_TRUE(std::isnan(metrics.find("x").value())) << static_cast<int>(reduce);
      }
    }
  }
}

TEST(MetricStoreRanksTest, RanksMayLogDifferentNamesInAnyOrder) {
  const std::vector<std::vector<std::string>> of_rank = {{"b", "a"}, {"c\n:3", "a"}, {}};
  for (const Metrics& metrics : epoch_of_ranks(3, [&](MetricStore&store, int64_t rank) {
         for (const std::string& name : of_rank[static_cast<size_t>(rank)]) {
           store.log(name, static_cast<double>(rank), {}, 1.0);
         }
       })) {
    EXPECT_EQ(metrics.names(), "b, a, c\n:3");
    EXPECT_EQ(metrics.find("b"), 0.0);
    EXPECT_EQ(metrics.find("a"), 0.5);
    EXPECT_EQ(metrics.find("c\n:3"), 1.0);
  }
}

TEST(MetricStoreRanksTest, TheNumberOfCallsDoesNotDependOnTheNumberOfNames) {
  for (const int num_names : {1, 40}) {
    ThreadRanks ranks(2);
    epoch_of_ranks(ranks, 2, [&](MetricStore& store, int64_t rank) {
      for (int i = 0; i < num_names; ++i) store.log(std::to_string(i + rank), 1.0, {.reduce = Reduce::kMax}, 1.0);
    });
    EXPECT_EQ(ranks.num_calls(), 4) << num_names;
  }
}

TEST(MetricStoreRanksTest, OneRankMakesNoCall) {
  ThreadRanks ranks(1);
  epoch_of_ranks(ranks, 1, [](MetricStore& store, int64_t) {
    for (const Reduce reduce : {Reduce::kMean, Reduce::kMin}) {
      store.log(std::to_string(static_cast<int>(reduce)), 1.0, {.reduce = reduce}, 1.0);
    }
  });
  EXPECT_EQ(ranks.num_calls(), 0);
}

TEST(MetricStoreRanksTest, DifferentOptionsAreAnErrorOnAllRanks) {
  for (const LogOptions& other : {LogOptions{.on_step = true}, LogOptions{.reduce = Reduce::kSum},
                                  LogOptions{.prog_bar = true}, LogOptions{.logger = false}}) {
    ThreadRanks ranks(3);
    const Errors errors = ranks.run([&](Communicator& communicator) {
      MetricStore store(Stage::kValidate);
      if (communicator.rank() > 0) store.log("x", 1.0, communicator.rank() == 2 ? other : LogOptions{}, 1.0);
      (void)store.epoch_metrics(communicator);
    });
    EXPECT_EQ(errors, Errors(3,
                             "[log] \"x\" was logged with different options on ranks 1 and 2. Use the same on_step, "
                             "on_epoch, reduce, prog_bar and logger on every rank, or another name."));
  }
}

TEST(MetricStoreRanksTest, ANameOfAnotherRankBecomesKnown) {
  ThreadRanks ranks(2);
  const Errors errors = ranks.run([](Communicator& communicator) {
    MetricStore store(Stage::kValidate);
    const LogOptions options{.prog_bar = true, .logger = false};
    if (communicator.rank() == 1) store.log("x", 1.0, options, 1.0);
    (void)store.epoch_metrics(communicator);
    EXPECT_FALSE(store.goes_to_logger("x"));
    EXPECT_TRUE(store.shows_in_progress_bar("x"));
    store.reset_epoch();
    store.log("x", 3.0, options, 1.0);
    EXPECT_EQ(store.epoch_metrics(communicator).find("x"), 3.0);
  });
  EXPECT_EQ(errors, Errors(2));
}

TEST(MetricStoreRanksTest, AMetricIsOfAllRanks) {
  for (int64_t world_size = 1; world_size <= 4; ++world_size) {
    std::vector<WholeMean> means(static_cast<size_t>(world_size));
    for (const Metrics& metrics : epoch_of_ranks(world_size, [&](MetricStore&store, int64_t rank) {
           WholeMean& mean = means[static_cast<size_t>(rank)];
           store.log("before", 1.0, {}, 1.0);
           for (int64_t value = rank; value < 5; value += world_size) mean.update(value);
           store.log("mean", mean, {});
         })) {
      EXPECT_EQ(metrics.find("mean"), 2.0);
      EXPECT_EQ(metrics.names(), "before, mean");
    }
  }
}

TEST(MetricStoreRanksTest, ARankThatNeverLoggedTheMetricTakesPart) {
  for (const std::vector<int64_t>& with_metric : {std::vector<int64_t>{0}, {2}, {1, 2}}) {
    std::vector<WholeMean> means(3);
    for (const Metrics& metrics : epoch_of_ranks(3, [&](MetricStore&store, int64_t rank) {
           if (std::find(with_metric.begin(), with_metric.end(), rank) == with_metric.end()) return;
           WholeMean& mean = means[static_cast<size_t>(rank)];
           mean.update(3);
           mean.update(6);
           store.log("mean", mean, {});
         })) {
      EXPECT_EQ(metrics.find("mean"), 4.5);
    }
  }
}

TEST(MetricStoreRanksTest, AMetricThatThrowsLeavesNoRankBehind) {
  WholeMean mean;
  ThreadRanks ranks(2);
  const Errors errors = ranks.run([&](Communicator& communicator) {
    MetricStore store(Stage::kValidate);
    if (communicator.rank() == 1) {
      mean.update(-1);
      store.log("mean", mean, {});
    }
    (void)store.epoch_metrics(communicator);
  });
  EXPECT_EQ(errors, (Errors{"[MetricStore] a metric could not be computed on rank 1; see its error.",
                            "[WholeMean] the sum is negative."}));
}

}  // namespace
}  // namespace levin
