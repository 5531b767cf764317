#include "trainer/data/batch_sampler.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/trainer/core/error_text.h"
#include "tests/trainer/data/order_of.h"
#include "trainer/core/error.h"

namespace levin {
namespace {

using Values = std::vector<int64_t>;
using Batches = std::vector<Values>;

/// Lengths 1 to 50, in no order.
Values lengths(int64_t size) {
  Values result;
  for (int64_t i = 0; i < size; ++i) result.push_back(i * 37 % 50 + 1);
  return result;
}

Values sorted(Values values) {
  std::ranges::sort(values);
  return values;
}

int64_t longest_of(const Values& batch, const Values& of) {
  int64_t longest = 0;
  for (const int64_t sample : batch) longest = std::max(longest, of[static_cast<size_t>(sample)]);
  return longest;
}

TEST(LengthSamplerTest, WithoutShuffleBatchesAreSortedWithinBuckets) {
  const LengthSampler sampler({5, 1, 3, 2, 4, 6}, {.batch_size = 2, .shuffle = false});
  EXPECT_TRUE(sampler.makes_batches());
  EXPECT_EQ(units_of(*sampler.order(0, 0)), (Batches{{1, 3}, {2, 4}, {0, 5}}));
  const LengthSampler in_buckets({5, 1, 3, 2, 4, 6}, {.batch_size = 2, .shuffle = false, .bucket_size = 4});
  EXPECT_EQ(units_of(*in_buckets.order(0, 0)), (Batches{{1, 3}, {2, 0}, {4, 5}}));
}

TEST(LengthSamplerTest, TokensAfterPaddingStayWithinTheLimit) {
  const LengthSampler sampler({5, 1, 3, 2, 4, 6}, {.max_tokens = 8, .shuffle = false});
  // 1, 2 make 2 * 2; a third of length 3 would make 9.
  EXPECT_EQ(units_of(*sampler.order(0, 0)), (Batches{{1, 3}, {2, 4}, {0}, {5}}));
  const Values of = lengths(500);
  const LengthSampler shuffled(of, {.max_tokens = 200, .bucket_size = 100});
  for (const Values& batch : units_of(*shuffled.order(1, 0))) {
    EXPECT_LE(static_cast<int64_t>(batch.size()) * longest_of(batch, of), 200);
  }
}

TEST(LengthSamplerTest, BothLimitsHoldTogether) {
  const Values of = lengths(500);
  const LengthSampler sampler(of, {.batch_size = 7, .max_tokens = 100});
  for (const Values& batch : units_of(*sampler.order(1, 0))) {
    EXPECT_LE(batch.size(), 7u);
    EXPECT_LE(static_cast<int64_t>(batch.size()) * longest_of(batch, of), 100);
  }
}

TEST(LengthSamplerTest, EverySampleComesOnce) {
  for (const LengthSamplerOptions& options :
       {LengthSamplerOptions{.batch_size = 8}, LengthSamplerOptions{.batch_size = 8, .bucket_size = 20},
        LengthSamplerOptions{.max_tokens = 120, .bucket_size = 33}, LengthSamplerOptions{.batch_size = 1000}}) {
    const LengthSampler sampler(lengths(301), options);
    EXPECT_EQ(sorted(samples_of(*sampler.order(3, 2))), sequential_order(301));
  }
}

TEST(LengthSamplerTest, TheOrderDependsOnSeedAndEpochAlone) {
  const LengthSampler sampler(lengths(100), {.batch_size = 8});
  const Values order = samples_of(*sampler.order(1, 0));
  EXPECT_EQ(samples_of(*LengthSampler(lengths(100), {.batch_size = 8}).order(1, 0)), order);
  EXPECT_NE(samples_of(*sampler.order(1, 1)), order);
  EXPECT_NE(samples_of(*sampler.order(2, 0)), order);
}

TEST(LengthSamplerTest, LongBatchesDoNotAllComeLast) {
  const Values of = lengths(1000);
  const Batches batches = units_of(*LengthSampler(of, {.batch_size = 10}).order(1, 0));
  Values longest;
  for (const Values& batch : batches) longest.push_back(longest_of(batch, of));
  EXPECT_FALSE(std::ranges::is_sorted(longest));
}

TEST(LengthSamplerTest, LikeLengthsNeedLittlePadding) {
  const Values of = lengths(1000);
  const auto padded = [&](const Batches& batches) {
    int64_t tokens = 0;
    for (const Values& batch : batches) tokens += static_cast<int64_t>(batch.size()) * longest_of(batch, of);
    return tokens;
  };
  int64_t real = 0;
  for (const int64_t length : of) real += length;
  // 25.5 on average: at most one more for each sample where 20 of 1000 share a length, but about 49 without sorting.
  EXPECT_LE(padded(units_of(*LengthSampler(of, {.batch_size = 10}).order(1, 0))), real * 11 / 10);
  EXPECT_GT(padded(units_of(*LengthSampler(of, {.batch_size = 10, .bucket_size = 10}).order(1, 0))), real * 3 / 2);
}

// Only the end of the epoch has a batch that is not full: a bucket holds whole batches.
TEST(LengthSamplerTest, BucketsHoldWholeBatches) {
  const LengthSampler sampler(lengths(1000), {.batch_size = 30, .bucket_size = 100});
  int64_t num_partial = 0;
  for (const Values& batch : units_of(*sampler.order(1, 0))) num_partial += batch.size() < 30 ? 1 : 0;
  EXPECT_EQ(num_partial, 1);  // 1000 = 33 * 30 + 10
}

TEST(LengthSamplerTest, DropLastLeavesOutBatchesThatAreNotFull) {
  const LengthSampler sampler(lengths(1000), {.batch_size = 30, .bucket_size = 100, .drop_last = true});
  const Batches batches = units_of(*sampler.order(1, 0));
  EXPECT_EQ(batches.size(), 33u);
  for (const Values& batch : batches) EXPECT_EQ(batch.size(), 30u);
  EXPECT_EQ(error_text<DataError>([] {
              LengthSampler({1, 2}, {.batch_size = 3, .drop_last = true}).order(0, 0);
            }),
            "[LengthSampler] the 2 samples make no full batch of 3, and drop_last is set.");
}

TEST(LengthSamplerTest, OptionsMustFit) {
  EXPECT_EQ(error_text<ConfigError>([] { LengthSampler({1}, {}); }),
            "[LengthSampler] batch_size or max_tokens must be given, got neither.");
  for (const LengthSamplerOptions& options :
       {LengthSamplerOptions{.batch_size = 0}, LengthSamplerOptions{.max_tokens = 0},
        LengthSamplerOptions{.batch_size = 1, .bucket_size = 0}}) {
    EXPECT_NE(error_text<ConfigError>([&] { LengthSampler({1}, options); }).find("must be >= 1"), std::string::npos);
  }
}

TEST(LengthSamplerTest, LengthsMustFit) {
  EXPECT_EQ(error_text<DataError>([] { LengthSampler({}, {.batch_size = 1}); }),
            "[LengthSampler] there must be samples to draw from, got none.");
  EXPECT_EQ(error_text<DataError>([] {
              LengthSampler({3, 9, 12}, {.max_tokens = 8});
            }),
            "[LengthSampler] a sample must have between 1 and 8 tokens, but sample 1 has 9.");
  EXPECT_EQ(error_text<DataError>([] {
              LengthSampler({3, 0}, {.batch_size = 1});
            }),
            "[LengthSampler] a sample must have at least 1 token, but sample 1 has 0.");
}

}  // namespace
}  // namespace levin
