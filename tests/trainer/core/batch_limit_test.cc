#include "trainer/core/batch_limit.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "tests/trainer/core/error_text.h"
#include "trainer/core/error.h"

namespace levin {
namespace {

constexpr std::optional<int64_t> kUnknown = std::nullopt;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

struct Case {
  const char* what;
  BatchLimit limit;
  std::optional<int64_t> available;
  std::optional<int64_t> used;
};

const std::vector<Case> kCases = {
    {"1 is one batch", 1, 10, 1},
    {"1.0 is all batches", 1.0, 10, 10},
    {"the default is all batches", {}, 10, 10},
    {"0 is none", 0, 10, 0},
    {"0.0 is none", 0.0, 10, 0},
    {"0.1 of 10 is 1", 0.1, 10, 1},
    {"0.25 of 10 is 2.5, cut to 2", 0.25, 10, 2},
    {"0.5 of 3 is 1.5, cut to 1", 0.5, 3, 1},
    {"a count of what there is", 10, 10, 10},
    {"a count above what there is", 11, 10, 10},
    {"a count of an empty loader", 3, 0, 0},
    {"a fraction of an empty loader", 0.5, 0, 0},
    {"a count of an unknown length", 7, kUnknown, 7},
    {"0 of an unknown length", 0, kUnknown, 0},
    {"0.0 of an unknown length", 0.0, kUnknown, 0},
    {"1.0 of an unknown length is no limit", 1.0, kUnknown, kUnknown},
};

TEST(BatchLimitTest, ResolvesToANumberOfBatches) {
  for (const Case& c : kCases) EXPECT_EQ(c.limit.resolve(c.available, "limit_train_batches"), c.used) << c.what;
}

TEST(BatchLimitTest, FractionOfUnknownLengthIsAnError) {
  EXPECT_EQ(error_text<ConfigError>([] { BatchLimit(0.5).resolve(kUnknown, "limit_val_batches"); }),
            "[Trainer] limit_val_batches is the fraction 0.5, but the loader does not know its length. Give a number "
            "of batches instead.");
}

TEST(BatchLimitTest, FractionThatLeavesNoBatchIsAnError) {
  EXPECT_EQ(error_text<ConfigError>([] { BatchLimit(0.1).resolve(9, "limit_test_batches"); }),
            "[Trainer] limit_test_batches = 0.1 of 9 batches leaves no batch at all. Give at least 0.111, or a number "
            "of batches.");
}

TEST(BatchLimitTest, CountAndFractionDiffer) {
  EXPECT_TRUE(BatchLimit(1).is_count());
  EXPECT_FALSE(BatchLimit(1.0).is_count());
  EXPECT_FALSE(BatchLimit().is_count());
  EXPECT_FALSE(BatchLimit(1) == BatchLimit(1.0));
  EXPECT_FALSE(BatchLimit(0) == BatchLimit(0.0));
  EXPECT_TRUE(BatchLimit() == BatchLimit(1.0));
  EXPECT_TRUE(BatchLimit(int64_t{3}) == BatchLimit(3));
}

TEST(BatchLimitTest, ZeroOfEitherKindIsZero) {
  EXPECT_TRUE(BatchLimit(0).is_zero());
  EXPECT_TRUE(BatchLimit(0.0).is_zero());
  EXPECT_FALSE(BatchLimit(1).is_zero());
  EXPECT_FALSE(BatchLimit(0.01).is_zero());
}

TEST(BatchLimitTest, ValidIsACountFromZeroOrAFractionFromZeroToOne) {
  for (const BatchLimit& limit : std::vector<BatchLimit>{0, 1, 1000, 0.0, 0.5, 1.0}) {
    EXPECT_TRUE(limit.is_valid()) << limit.to_string();
  }
  for (const BatchLimit& limit : std::vector<BatchLimit>{-1, -0.1, 1.1, 10.0, kNaN, kInf}) {
    EXPECT_FALSE(limit.is_valid()) << limit.to_string();
  }
}

TEST(BatchLimitTest, TextTellsCountFromFraction) {
  EXPECT_EQ(BatchLimit(1).to_string(), "1");
  EXPECT_EQ(BatchLimit(1.0).to_string(), "1.0");
  EXPECT_EQ(BatchLimit(0).to_string(), "0");
  EXPECT_EQ(BatchLimit(0.0).to_string(), "0.0");
  EXPECT_EQ(BatchLimit(0.1).to_string(), "0.1");
  EXPECT_EQ(BatchLimit(10).to_string(), "10");
  EXPECT_EQ(BatchLimit(1e-7).to_string(), "1e-07");
  EXPECT_EQ(BatchLimit(kNaN).to_string(), "nan");
  EXPECT_EQ(BatchLimit(kInf).to_string(), "inf");
}

}  // namespace
}  // namespace levin
