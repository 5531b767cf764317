#include "callbacks/loggers/histogram.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include <limits>
#include <numeric>

namespace levin {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(HistogramTest, BucketsHaveEqualWidth) {
  // Edges at 2, 4, ... 60: a value in the middle of each bucket, and one at each end.
  const at::Tensor middles = at::arange(1, 60, 2, at::kFloat).reshape({2, 15});
  const Histogram histogram = make_histogram(at::cat({middles, at::tensor({0.0F, 60.0F}).reshape({2, 1})}, 1));
  EXPECT_EQ(histogram.min, 0);
  EXPECT_EQ(histogram.max, 60);
  EXPECT_EQ(histogram.num, 32);
  EXPECT_EQ(histogram.sum, 960);
  EXPECT_EQ(histogram.sum_squares, 39590);  // 1 + 9 + ... + 59^2 = 35990, and 60^2
  ASSERT_EQ(histogram.limits.size(), 30u);
  ASSERT_EQ(histogram.counts.size(), 30u);
  for (size_t i = 0; i < 30; ++i) {
    EXPECT_DOUBLE_EQ(histogram.limits[i], 2.0 * static_cast<double>(i + 1));
    EXPECT_EQ(histogram.counts[i], i == 0 || i == 29 ? 2 : 1) << i;
  }
}

TEST(HistogramTest, ValuesThatAreNotFiniteAreLeftOut) {
  const Histogram histogram = make_histogram(at::tensor({1.0, kNan, kInf, -kInf, 3.0}));
  EXPECT_EQ(histogram.num, 2);
  EXPECT_EQ(histogram.sum, 4);
  EXPECT_EQ(histogram.min, 1);
  EXPECT_EQ(histogram.max, 3);
}

TEST(HistogramTest, EqualValuesMakeOneBucket) {
  const Histogram histogram = make_histogram(at::full({4}, 2.5));
  EXPECT_EQ(histogram.limits, std::vector<double>({2.5}));
  EXPECT_EQ(histogram.counts, std::vector<double>({4}));
}

TEST(HistogramTest, NoFiniteValueMakesAnEmptyBucket) {
  for (const at::Tensor& values : {at::tensor({kNan, kInf}), at::full({0}, 1.0)}) {
    const Histogram histogram = make_histogram(values);
    EXPECT_EQ(histogram.num, 0);
    EXPECT_EQ(histogram.min, 0);
    EXPECT_EQ(histogram.max, 0);
    EXPECT_EQ(histogram.counts, std::vector<double>({0}));
  }
}

TEST(HistogramTest, LargestAndSmallestRangesKeepEveryValue) {
  const double max = std::numeric_limits<double>::max();
  const double tiny = std::numeric_limits<double>::denorm_min();
  for (const at::Tensor& values :
       {at::tensor({-max, max}), at::tensor({0.0, tiny}), at::tensor({1.0, 1.0 + 0x1p-52})}) {
    const Histogram histogram = make_histogram(values);
    EXPECT_EQ(std::accumulate(histogram.counts.begin(), histogram.counts.end(), 0.0), 2);
    for (const double limit : histogram.limits) EXPECT_TRUE(limit >= histogram.min && limit <= histogram.max);
  }
}

TEST(HistogramTest, IntegersAndBoolsAreNumbers) {
  EXPECT_EQ(make_histogram(at::arange(5, at::kLong)).sum, 10);
  EXPECT_EQ(make_histogram(at::full({3}, true, at::kBool)).sum, 3);
}

}  // namespace
}  // namespace levin
