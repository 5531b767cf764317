#include "trainer/report/decimate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace levin {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

bool keeps(const std::vector<size_t>& kept, size_t index) {
  return std::find(kept.begin(), kept.end(), index) != kept.end();
}

TEST(DecimateTest, FewPointsAllStay) {
  EXPECT_EQ(decimate({3.0, kNan, 1.0}, 10), (std::vector<size_t>{0, 1, 2}));
  EXPECT_EQ(decimate(std::vector<double>(10, 1.0), 10).size(), 10u);
  EXPECT_TRUE(decimate({}, 10).empty());
}

TEST(DecimateTest, StretchKeepsFirstLastLowestAndHighest) {
  // Two stretches of six: [0, 6) and [6, 12).
  const std::vector<double> values = {5, 5, 9, 5, 1, 5, 5, 2, 5, 8, 5, 5};
  EXPECT_EQ(decimate(values, 10), (std::vector<size_t>{0, 2, 4, 5, 6, 7, 9, 11}));
}

TEST(DecimateTest, ExtremesOfALongCurveStay) {
  std::vector<double> values(100'000);
  for (size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<double>(i) * 0.01);
  values[12'345] = 50.0;
  values[54'321] = -50.0;
  values[77'777] = kNan;
  const std::vector<size_t> kept = decimate(values, 4000);
  EXPECT_LE(kept.size(), 4000u);
  EXPECT_GE(kept.size(), 1600u);
  for (const size_t index : {0u, 12'345u, 54'321u, 77'777u, 99'999u}) EXPECT_TRUE(keeps(kept, index)) << index;
  EXPECT_TRUE(std::is_sorted(kept.begin(), kept.end()));
  EXPECT_EQ(std::adjacent_find(kept.begin(), kept.end()), kept.end());
}

TEST(DecimateTest, ValuesThatAreNotFiniteHideNoExtreme) {
  std::vector<double> values(100, kNan);
  values[3] = 1.0;
  values[4] = std::numeric_limits<double>::infinity();
  values[7] = -1.0;
  const std::vector<size_t> kept = decimate(values, 10);
  EXPECT_TRUE(keeps(kept, 3));
  EXPECT_TRUE(keeps(kept, 7));
  EXPECT_LE(kept.size(), 10u);
}

TEST(DecimateTest, StretchesCoverEverythingOnce) {
  EXPECT_EQ(stretches(12, 10), (std::vector<size_t>{0, 6}));
  EXPECT_EQ(stretches(3, 100), (std::vector<size_t>{0, 1, 2}));
  EXPECT_TRUE(stretches(0, 100).empty());
}

}  // namespace
}  // namespace levin
