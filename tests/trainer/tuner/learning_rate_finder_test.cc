#include "trainer/tuner/learning_rate_finder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "trainer/core/error.h"

namespace levin {
namespace {

using testing::HasSubstr;

// Feeds the losses loss(rate) until the finder has enough.
template <class Loss>
LearningRateFinderResult search(const LearningRateFinderOptions& options, Loss loss) {
  LearningRateFinder finder(options);
  for (int64_t step = 0; step < options.num_steps; ++step) {
    if (!finder.add(loss(finder.learning_rate(step)))) break;
  }
  return finder.result();
}

TEST(LearningRateFinderTest, RatesGrowByAFactorOrByASum) {
  const LearningRateFinder exponential({.min_lr = 1e-4, .max_lr = 1.0, .num_steps = 5});
  EXPECT_DOUBLE_EQ(exponential.learning_rate(0), 1e-4);
  EXPECT_NEAR(exponential.learning_rate(2), 1e-2, 1e-15);
  EXPECT_NEAR(exponential.learning_rate(4), 1.0, 1e-12);
  const LearningRateFinder linear({.min_lr = 0.1, .max_lr = 0.5, .num_steps = 5, .mode = "linear"});
  EXPECT_NEAR(linear.learning_rate(3), 0.4, 1e-12);
}

TEST(LearningRateFinderTest, SuggestsWhereTheLossFallsFastest) {
  // A fall of the logistic form around 1e-3, and a rise from 0.3 on.
  const auto loss = [](double rate) {
    const double x = std::log10(rate);
    return 2.0 - 1.5 / (1.0 + std::exp(-6.0 * (x + 3.0))) + std::exp(8.0 * (x + 0.5));
  };
  const LearningRateFinderResult result = search({.min_lr = 1e-7, .max_lr = 10.0, .num_steps = 400}, loss);
  ASSERT_TRUE(result.suggestion);
  // The mean of the losses lags behind them by up to 50 steps, that is by a decade here.
  EXPECT_GT(*result.suggestion, 8e-4);
  EXPECT_LT(*result.suggestion, 2e-2);
  EXPECT_LT(result.learning_rates.size(), 400u);  // it ended by itself
}

TEST(LearningRateFinderTest, TheMeanIsCorrectedForItsStart) {
  const LearningRateFinderResult result = search({.num_steps = 20}, [](double /*rate*/) { return 3.0; });
  ASSERT_EQ(result.losses.size(), 20u);
  for (const double loss : result.losses) EXPECT_NEAR(loss, 3.0, 1e-12);
  EXPECT_FALSE(result.suggestion);
}

TEST(LearningRateFinderTest, ARisingLossGivesNoSuggestion) {
  EXPECT_FALSE(search({.num_steps = 50}, [](double rate) { return 1.0 + rate; }).suggestion);
}

TEST(LearningRateFinderTest, TheFallAfterAPeakIsNoSuggestion) {
  // Falls slowly up to step 60, then explodes, then falls steeply back, but not as low.
  int64_t step = 0;
  const auto loss = [&](double /*rate*/) {
    ++step;
    if (step < 60) return 2.0 - 0.02 * static_cast<double>(step);
    return step < 70 ? 40.0 : 1.5;
  };
  const LearningRateFinderOptions options{.early_stop_threshold = std::nullopt};
  const LearningRateFinderResult result = search(options, loss);
  ASSERT_TRUE(result.suggestion);
  EXPECT_LT(*result.suggestion, LearningRateFinder(options).learning_rate(60));
}

TEST(LearningRateFinderTest, EndsWhereTheLossIsNotFinite) {
  LearningRateFinder finder;
  EXPECT_TRUE(finder.add(1.0));
  EXPECT_FALSE(finder.add(std::numeric_limits<double>::quiet_NaN()));
  EXPECT_EQ(finder.result().losses.size(), 1u);
  EXPECT_FALSE(finder.result().suggestion);
}

TEST(LearningRateFinderTest, EndsWhereTheLossHasGoneUp) {
  LearningRateFinder finder({.early_stop_threshold = 2.0});
  EXPECT_TRUE(finder.add(1.0));
  EXPECT_FALSE(finder.add(1000.0));
  LearningRateFinder patient({.early_stop_threshold = std::nullopt});
  EXPECT_TRUE(patient.add(1.0));
  EXPECT_TRUE(patient.add(1000.0));
}

TEST(LearningRateFinderTest, WrongOptionsAreRefused) {
  try {
    const LearningRateFinder finder({.min_lr = 1.0, .max_lr = 0.1, .num_steps = 1, .mode = "cubic"});
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("min_lr (1) must be below max_lr (0.1)"));
    EXPECT_THAT(error.what(), HasSubstr("num_steps must be >= 2, got 1"));
    EXPECT_THAT(error.what(), HasSubstr("mode must be one of: exponential, linear"));
  }
}

}  // namespace
}  // namespace levin
