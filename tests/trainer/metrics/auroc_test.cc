#include "trainer/metrics/auroc.h"

#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/trainer/core/error_text.h"
#include "trainer/core/error.h"

namespace levin {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

at::Tensor floats(std::vector<float> values) { return at::tensor(values); }
at::Tensor classes(std::vector<int64_t> values) { return at::tensor(values); }

double auroc(const at::Tensor& scores, const at::Tensor& targets, AurocOptions options = {}) {
  SingleProcessCommunicator communicator;
  Auroc metric(options);
  metric.update(scores, targets);
  return metric.compute(communicator);
}

TEST(AurocTest, IsTheShareOfOrderedPairs) {
  EXPECT_EQ(auroc(floats({0.1F, 0.4F, 0.35F, 0.8F}), classes({0, 0, 1, 1})), 0.75);  // 3 of 4 pairs
  EXPECT_EQ(auroc(floats({1, 2, 3}), classes({0, 1, 1})), 1.0);
  EXPECT_EQ(auroc(floats({3, 2, 1}), classes({0, 1, 1})), 0.0);
}

TEST(AurocTest, EqualScoresCountHalf) {
  EXPECT_EQ(auroc(floats({1, 1, 1, 1}), classes({0, 1, 0, 1})), 0.5);
  // Pairs of (0.5, 0.7) with (0.5, 0.2): half, one, one, one.
  EXPECT_EQ(auroc(floats({0.5F, 0.5F, 0.7F, 0.2F}), classes({1, 0, 1, 0})), 0.875);
}

TEST(AurocTest, InfiniteScoresHaveTheirOrder) {
  EXPECT_EQ(auroc(floats({-kInf, 0, kInf}), classes({0, 0, 1})), 1.0);
  EXPECT_EQ(auroc(floats({kInf, kInf}), classes({0, 1})), 0.5);
}

TEST(AurocTest, TakesScoresOfBothClasses) {
  EXPECT_EQ(auroc(floats({9, 0.1F, 0, 0.4F, 0, 0.35F, 0, 0.8F}).reshape({4, 2}), classes({0, 0, 1, 1})), 0.75);
}

TEST(AurocTest, MacroIsTheMeanOverTheClassesThatHaveBothKinds) {
  // Class 0: scores 3 against 1, 2: 1. Class 1: score 1 against 5, 0: 0.5. Class 2: score 2 against 4, 4: 0.
  const at::Tensor scores = floats({3, 5, 4, 1, 1, 4, 2, 0, 2}).reshape({3, 3});
  EXPECT_EQ(auroc(scores, classes({0, 1, 2}), {.num_classes = 3}), 0.5);
  // Without class 2: class 0: 3 against 1; class 1: 1 against 5.
  EXPECT_EQ(auroc(scores.slice(0, 0, 2), classes({0, 1}), {.num_classes = 3}), 0.5);
}

TEST(AurocTest, OneKindOfTargetsOrANaNIsNaN) {
  EXPECT_TRUE(std::isnan(auroc(floats({1, 2}), classes({1, 1}))));
  EXPECT_TRUE(std::isnan(auroc(floats({1, kNaN, 2}), classes({1, 0, 0}))));
  EXPECT_TRUE(std::isnan(auroc(floats({1, kNaN, 2, 3, 4, 5}).reshape({2, 3}), classes({0, 1}), {.num_classes = 3})));
}

TEST(AurocTest, IgnoredTargetsDoNotCount) {
  EXPECT_EQ(auroc(floats({1, kNaN, 2, 9}), classes({0, -100, 1, -100})), 1.0);
}

TEST(AurocTest, GrowsBeyondItsFirstCapacity) {
  SingleProcessCommunicator communicator;
  Auroc metric;
  for (int batch = 0; batch < 50; ++batch) {
    // Negatives have the scores 0 to 99, positives 50 to 149; each pair counts if the positive is higher.
    std::vector<float> scores;
    std::vector<int64_t> targets;
    for (int i = 0; i < 100; ++i) {
      scores.push_back(static_cast<float>(i));
      targets.push_back(0);
      scores.push_back(static_cast<float>(50 + i));
      targets.push_back(1);
    }
    metric.update(floats(scores), classes(targets));
  }
  EXPECT_EQ(metric.state().tensor("targets").size(0), 10'000);
  // Of 100 x 100: 50 positives above all; for p = 50..99: p lower, one equal. 5000 + 50 * (50 + 99) / 2 + 25.
  EXPECT_EQ(metric.compute(communicator), 0.875);
}

TEST(AurocTest, KeepsDoublesExact) {
  // The two differ beyond float32.
  const at::Tensor scores = at::tensor({1.0, 1.0 + 1e-12}, at::kDouble);
  EXPECT_EQ(auroc(scores, classes({0, 1})), 1.0);
  SingleProcessCommunicator communicator;
  Auroc mixed;
  mixed.update(floats({0.5F}), classes({0}));
  mixed.update(scores, classes({0, 1}));
  EXPECT_EQ(mixed.compute(communicator), 1.0);
  EXPECT_EQ(mixed.state().tensor("scores").scalar_type(), at::kDouble);
}

TEST(AurocTest, WrongInputsAreErrors) {
  EXPECT_EQ(error_text<ConfigError>([] { Auroc({.num_classes = 1}); }),
            "[Auroc] num_classes must be at least 2, got 1.");
  EXPECT_EQ(error_text<ModelError>([] {
              (void)auroc(at::zeros({2, 4}), classes({0, 1}), {.num_classes = 3});
            }),
            "[Auroc] scores must be [N, 3, ...] of floating type for targets [N, ...], got predictions float32 [2, 4] "
            "and targets int64 [2].");
  EXPECT_EQ(error_text<ModelError>([] {
              (void)auroc(classes({0, 1}), classes({0, 1}));
            }),
            "[Auroc] scores must be [N, 2, ...] or [N, ...] of floating type for targets [N, ...], got predictions "
            "int64 [2] and targets int64 [2].");
  EXPECT_THROW((void)auroc(at::zeros({2}), classes({0, 1}), {.num_classes = 3}), ModelError);
  EXPECT_EQ(error_text<ModelError>([] {
              (void)auroc(at::zeros({2}), classes({0, 2}));
            }),
            "[Auroc] classes must be at least 0 and below the number of classes, 1 were not. Targets that should not "
            "count must be equal to ignore_index.");
}

}  // namespace
}  // namespace levin
