#include "callbacks/matmul_rate.h"

#include <gtest/gtest.h>

#include <cmath>

#include "trainer/core/error.h"
#include "trainer/core/random.h"

namespace levin {
namespace {

// Each reading is a second later, so that one product of 256 x 256 matrices takes a second.
TEST(MatmulRateTest, RateIsTheOperationsOfAProductOverItsTime) {
  double now = 0.0;
  int64_t num_readings = 0;
  const ClockFunction clock = [&] {
    ++num_readings;
    return now += 1.0;
  };
  EXPECT_DOUBLE_EQ(measure_matmul_rate(at::kCPU, at::kFloat, clock), 2.0 * 256.0 * 256.0 * 256.0);
  EXPECT_LE(num_readings, 8);  // its budget is spent with the smallest size
}

// Each reading is 10 ms later, as if products of all sizes took that long: 512 x 512 is reached, 1024 x 1024 is not.
TEST(MatmulRateTest, LargerSizesAreTriedWhileThereIsTime) {
  double now = 0.0;
  const double rate = measure_matmul_rate(at::kCPU, at::kFloat, [&] { return now += 0.01; });
  const double expected = 2.0 * std::pow(512.0, 3.0) / 0.01;
  EXPECT_NEAR(rate / expected, 1.0, 1e-9);
  EXPECT_LT(now, 0.5);
}

TEST(MatmulRateTest, ARealClockGivesARateAndNoRandomNumberIsDrawn) {
  seed_everything(3);
  const StateDict before = random_state();
  const double rate = measure_matmul_rate(at::kCPU, at::kFloat);
  EXPECT_GT(rate, 1e8);  // the slowest machines that LibTorch runs on do more
  EXPECT_TRUE(std::isfinite(rate));
  EXPECT_TRUE(before.tensor("cpu").equal(random_state().tensor("cpu")));
}

TEST(MatmulRateTest, TypeWithoutProductsIsAnError) {
  EXPECT_THROW(measure_matmul_rate(at::kCPU, at::kBool), ConfigError);
}

}  // namespace
}  // namespace levin
