#include "trainer/metrics/f1_score.h"

#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/trainer/core/error_text.h"
#include "trainer/core/error.h"

namespace levin {
namespace {

at::Tensor classes(std::vector<int64_t> values) { return at::tensor(values); }

// Class 0: TP 2, FP 1, FN 0; class 1: TP 1, FP 0, FN 2; class 2: TP 1, FP 1, FN 0; class 3 is absent.
F1Score example(F1Average average) {
  F1Score metric({.num_classes = 4, .average = average});
  metric.update(classes({0, 0, 0, 1}), classes({0, 0, 1, 1}));
  metric.update(classes({2, 2}), classes({2, 1}));
  return metric;
}

double compute(const F1Score& metric) {
  SingleProcessCommunicator communicator;
  return metric.compute(communicator);
}

TEST(F1ScoreTest, PerClass) {
  SingleProcessCommunicator communicator;
  const std::vector<double> scores = example(F1Average::kMacro).per_class(communicator);
  ASSERT_EQ(scores.size(), 4);
  EXPECT_EQ(scores[0], 4.0 / 5.0);
  EXPECT_EQ(scores[1], 2.0 / 4.0);
  EXPECT_EQ(scores[2], 2.0 / 3.0);
  EXPECT_TRUE(std::isnan(scores[3]));
}

TEST(F1ScoreTest, Averages) {
  EXPECT_DOUBLE_EQ(compute(example(F1Average::kMacro)), (0.8 + 0.5 + 2.0 / 3.0) / 3);
  EXPECT_DOUBLE_EQ(compute(example(F1Average::kWeighted)), (2 * 0.8 + 3 * 0.5 + 1 * 2.0 / 3.0) / 6);
  EXPECT_DOUBLE_EQ(compute(example(F1Average::kMicro)), 4.0 / 6.0);  // 4 of 6 are right
}

TEST(F1ScoreTest, BinaryIsThatOfClassOne) {
  F1Score metric;
  metric.update(at::tensor({0.9F, 0.2F, 0.7F, 0.4F}), classes({1, 0, 0, 1}));
  EXPECT_EQ(compute(metric), 0.5);  // TP 1, FP 1, FN 1
  F1Score low({.threshold = 0.3});
  low.update(at::tensor({0.9F, 0.2F, 0.7F, 0.4F}), classes({1, 0, 0, 1}).to(at::kBool));
  EXPECT_EQ(compute(low), 0.8);  // TP 2, FP 1
}

TEST(F1ScoreTest, BinaryTakesScoresOfBothClasses) {
  F1Score metric;
  metric.update(at::tensor({0.1F, 0.9F, 0.8F, 0.2F}).reshape({2, 2}), classes({1, 1}));
  EXPECT_DOUBLE_EQ(compute(metric), 2.0 / 3.0);
}

TEST(F1ScoreTest, WithoutPositivesIsNaNAndWithoutHitsZero) {
  F1Score metric;
  metric.update(classes({0, 0}), classes({0, 0}));
  EXPECT_TRUE(std::isnan(compute(metric)));
  metric.update(classes({1}), classes({0}));
  EXPECT_EQ(compute(metric), 0.0);
}

TEST(F1ScoreTest, IgnoredTargetsDoNotCount) {
  F1Score metric({.num_classes = 3, .average = F1Average::kMicro});
  metric.update(classes({0, 1, 2, 9}), classes({0, 2, -100, -100}));
  EXPECT_EQ(compute(metric), 0.5);
}

TEST(F1ScoreTest, WrongInputsAreErrors) {
  EXPECT_EQ(error_text<ConfigError>([] { F1Score({.num_classes = 3}); }),
            "[F1Score] a binary average needs num_classes = 2, got 3. Choose a micro, macro or weighted average.");
  EXPECT_EQ(error_text<ConfigError>([] { F1Score({.num_classes = 1}); }),
            "[F1Score] num_classes must be at least 2, got 1.");
  F1Score metric({.num_classes = 3, .average = F1Average::kMacro});
  EXPECT_EQ(error_text<ModelError>([&] {
              metric.update(at::zeros({2}), classes({0, 1}));
            }),
            "[F1Score] scores must be of 3 classes, [N, C, ...], got predictions float32 [2] and targets int64 [2].");
  metric.update(classes({3, 0, 1}), classes({0, 5, 1}));
  EXPECT_EQ(error_text<ModelError>([&] { (void)compute(metric); }),
            "[F1Score] classes must be at least 0 and below the number of classes, 2 were not. Targets that should not "
            "count must be equal to ignore_index.");
}

}  // namespace
}  // namespace levin
