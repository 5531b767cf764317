#include "trainer/metrics/perplexity.h"

#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/trainer/core/error_text.h"
#include "trainer/core/error.h"

namespace levin {
namespace {

// Of exp and log in double, and of the order of a sum of few terms.
constexpr double kTolerance = 1e-13;

at::Tensor classes(std::vector<int64_t> values) { return at::tensor(values); }

double perplexity(const at::Tensor& logits, const at::Tensor& targets, PerplexityOptions options = {}) {
  SingleProcessCommunicator communicator;
  Perplexity metric(options);
  metric.update(logits, targets);
  return metric.compute(communicator);
}

TEST(PerplexityTest, EqualLogitsGiveTheNumberOfClasses) {
  EXPECT_NEAR(perplexity(at::zeros({2, 3, 7}), at::zeros({2, 3}, at::kLong)), 7.0, 7 * kTolerance);
  EXPECT_NEAR(perplexity(at::full({5, 4}, 1000.0F), at::zeros({5}, at::kLong)), 4.0, 4 * kTolerance);
}

TEST(PerplexityTest, IsTheInverseGeometricMeanOfTheProbabilities) {
  // Probabilities of the targets: 1/4 and 1/2, so 8 ^ (1 / 2).
  const double log3 = std::log(3.0);
  const at::Tensor logits = at::tensor({0.0, log3, 1.0, 1.0}, at::kDouble).reshape({2, 2});
  EXPECT_NEAR(perplexity(logits, classes({0, 1})), std::sqrt(8.0), kTolerance);
}

TEST(PerplexityTest, TokensCountAlikeOverBatches) {
  SingleProcessCommunicator communicator;
  Perplexity metric;
  metric.update(at::zeros({3, 2}), classes({0, 1, 0}));
  metric.update(at::zeros({1, 32}), classes({31}));
  EXPECT_NEAR(metric.compute(communicator), 4.0, 4 * kTolerance);  // (2^3 * 2^5) ^ (1 / 4)
}

TEST(PerplexityTest, PaddingDoesNotCount) {
  at::Tensor logits = at::zeros({2, 2, 3});
  logits[0][1].fill_(std::nan(""));
  EXPECT_NEAR(perplexity(logits, classes({0, -100, 2, 1}).reshape({2, 2})), 3.0, 3 * kTolerance);
  EXPECT_NEAR(perplexity(logits, classes({1, 0, 2, 1}).reshape({2, 2}), {.ignore_index = 0}), 3.0, 3 * kTolerance);
  EXPECT_TRUE(std::isnan(perplexity(at::zeros({2, 3}), classes({-100, -100}))));
}

TEST(PerplexityTest, ManyLogitsAreTakenInBlocks) {
  // 3 blocks of rows: 2^22 / 2^21 = 2 rows in each.
  const at::Tensor logits = at::zeros({5, 1 << 21});
  EXPECT_NEAR(perplexity(logits, classes({0, 1, 2, -100, 3})), 1 << 21, (1 << 21) * kTolerance);
}

TEST(PerplexityTest, WrongInputsAreErrors) {
  EXPECT_EQ(error_text<ModelError>([] {
              (void)perplexity(at::zeros({2, 7, 3}), at::zeros({2, 3}, at::kLong));
            }),
            "[Perplexity] logits must be [N, V] or [B, T, V] for targets [N] or [B, T], got predictions float32 [2, 7, "
            "3] and targets int64 [2, 3].");
  EXPECT_THROW((void)perplexity(at::zeros({2, 3}, at::kLong), classes({0, 1})), ModelError);
  EXPECT_THROW((void)perplexity(at::zeros({2, 3}), at::zeros({2})), ModelError);
  EXPECT_THROW((void)perplexity(at::zeros({2, 3}), classes({0, 1}).to(at::kBool)), ModelError);
  EXPECT_EQ(error_text<ModelError>([] {
              (void)perplexity(at::zeros({2, 3}), classes({3, -1}));
            }),
            "[Perplexity] classes must be at least 0 and below the number of classes, 2 were not. Targets that should "
            "not count must be equal to ignore_index.");
}

}  // namespace
}  // namespace levin
