#include "trainer/metrics/accuracy.h"

#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/trainer/core/error_text.h"
#include "trainer/core/error.h"

namespace levin {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

double accuracy(const at::Tensor& predictions, const at::Tensor& targets, AccuracyOptions options = {}) {
  SingleProcessCommunicator communicator;
  Accuracy metric(options);
  metric.update(predictions, targets);
  return metric.compute(communicator);
}

at::Tensor floats(std::vector<float> values) { return at::tensor(values); }
at::Tensor classes(std::vector<int64_t> values) { return at::tensor(values); }

TEST(AccuracyTest, OfLogits) {
  const at::Tensor logits = floats({3, 1, 2, 0, 5, 1, 0, 1, 9, 7, 1, 2}).reshape({4, 3});
  EXPECT_EQ(accuracy(logits, classes({0, 1, 2, 1})), 0.75);
  EXPECT_EQ(accuracy(logits.to(at::kBFloat16), classes({0, 1, 2, 1})), 0.75);
}

TEST(AccuracyTest, OfClassesAndBool) {
  EXPECT_EQ(accuracy(classes({4, 2, 7, 0}), classes({4, 2, 1, 1})), 0.5);
  EXPECT_EQ(accuracy(classes({1, 0}).to(at::kBool), classes({1, 1}).to(at::kBool)), 0.5);
  EXPECT_EQ(accuracy(classes({1, 0}).to(at::kInt), classes({1, 1}).to(at::kByte)), 0.5);
}

TEST(AccuracyTest, OfBinaryScores) {
  const at::Tensor scores = floats({0.2F, 0.5F, 0.7F, 0.9F});
  EXPECT_EQ(accuracy(scores, classes({0, 0, 1, 0})), 0.75);  // 0.5 is not above 0.5
  EXPECT_EQ(accuracy(scores, classes({0, 1, 1, 1}), {.threshold = 0.3}), 1.0);
  EXPECT_EQ(accuracy(floats({-1.0F, 0.1F}), classes({0, 1}), {.threshold = 0.0}), 1.0);  // logits
}

TEST(AccuracyTest, TopKCountsTheKHighest) {
  const at::Tensor scores = floats({0.1F, 0.2F, 0.7F, 0.5F, 0.3F, 0.2F}).reshape({2, 3});
  EXPECT_EQ(accuracy(scores, classes({1, 2})), 0.0);
  EXPECT_EQ(accuracy(scores, classes({1, 2}), {.top_k = 2}), 0.5);
  EXPECT_EQ(accuracy(scores, classes({0, 2}), {.top_k = 3}), 1.0);
  EXPECT_EQ(accuracy(scores, classes({0, 2}), {.top_k = 9}), 1.0);
}

TEST(AccuracyTest, EqualScoresAreTakenInTheOrderOfTheClasses) {
  const at::Tensor scores = at::zeros({4, 4});
  EXPECT_EQ(accuracy(scores, classes({0, 1, 2, 3})), 0.25);
  EXPECT_EQ(accuracy(scores, classes({0, 1, 2, 3}), {.top_k = 2}), 0.5);
  EXPECT_EQ(accuracy(scores, classes({0, 1, 2, 3}), {.top_k = 3}), 0.75);
}

TEST(AccuracyTest, ANaNIsNotRight) {
  const at::Tensor scores = floats({kNaN, 1, 2, kNaN, 1, 2}).reshape({2, 3});
  EXPECT_EQ(accuracy(scores, classes({0, 2}), {.top_k = 2}), 0.5);
}

TEST(AccuracyTest, IgnoredTargetsDoNotCount) {
  EXPECT_EQ(accuracy(classes({1, 2, 3}), classes({1, -100, 0})), 0.5);
  EXPECT_EQ(accuracy(classes({1, 2, 3}), classes({1, 2, 0}), {.ignore_index = 0}), 1.0);
  const at::Tensor scores = floats({0, 9, 1, 0, 1, 0}).reshape({2, 3});
  EXPECT_EQ(accuracy(scores, classes({1, -1}), {.top_k = 2, .ignore_index = -1}), 1.0);
}

TEST(AccuracyTest, FurtherDimensionsAreSamples) {
  // [N, C, L] = [1, 2, 3]
  const at::Tensor scores = floats({1, 0, 1, 0, 1, 0}).reshape({1, 2, 3});
  EXPECT_EQ(accuracy(scores, classes({0, 1, 1}).reshape({1, 3})), 2.0 / 3.0);
  EXPECT_EQ(accuracy(scores, classes({0, 1, 1}).reshape({1, 3}), {.top_k = 2}), 1.0);
}

TEST(AccuracyTest, SamplesCountAlikeOverBatches) {
  // B3: means of batches would give (1 + 0) / 2.
  SingleProcessCommunicator communicator;
  Accuracy metric;
  metric.update(classes({1, 1, 1}), classes({1, 1, 1}));
  metric.update(classes({0}), classes({1}));
  EXPECT_EQ(metric.compute(communicator), 0.75);
}

TEST(AccuracyTest, CountsBeyondFloat) {
  // 2^24 + 1 samples, all right but one: float32 could not count them.
  SingleProcessCommunicator communicator;
  Accuracy metric;
  constexpr int64_t kSize = (1 << 24) + 1;
  metric.update(at::full({kSize}, 1, at::kByte), at::full({kSize}, 1, at::kByte));
  metric.update(classes({0}), classes({1}));
  EXPECT_EQ(metric.compute(communicator), static_cast<double>(kSize) / (kSize + 1));
}

TEST(AccuracyTest, ATargetThatIsNoClassIsAnError) {
  const std::string text =
      "[Accuracy] classes must be at least 0 and below the number of classes, 2 were not. Targets that should not "
      "count must be equal to ignore_index.";
  EXPECT_EQ(error_text<ModelError>([] { (void)accuracy(at::zeros({3, 3}), classes({3, 0, -1})); }), text);
  EXPECT_EQ(error_text<ModelError>([] { (void)accuracy(at::zeros({3, 3}), classes({3, 0, -1}), {.top_k = 2}); }), text);
  EXPECT_EQ(error_text<ModelError>([] { (void)accuracy(at::zeros({3}), classes({2, 0, -1})); }), text);
}

TEST(AccuracyTest, WrongShapesAndTypesAreErrors) {
  EXPECT_EQ(error_text<ModelError>([] {
              (void)accuracy(at::zeros({4, 3}), classes({0, 1}));
            }),
            "[Accuracy] predictions must be scores [N, C, ...] or [N, ...], or classes [N, ...], for targets [N, ...], "
            "got predictions float32 [4, 3] and targets int64 [2].");
  EXPECT_EQ(error_text<ModelError>([] {
              (void)accuracy(at::zeros({2}), floats({0, 1}));
            }),
            "[Accuracy] targets must be classes of integer type or bool, got predictions float32 [2] and targets "
            "float32 [2].");
  EXPECT_EQ(error_text<ModelError>([] {
              (void)accuracy(at::zeros({2}), classes({0, 1}), {.top_k = 2});
            }),
            "[Accuracy] top_k needs scores [N, C, ...] for targets [N, ...], got predictions float32 [2] and targets "
            "int64 [2].");
  EXPECT_THROW((void)accuracy(at::zeros({2, 3}, at::kLong), classes({0, 1})), ModelError);
  EXPECT_THROW((void)accuracy(at::zeros({2, 0}), classes({0, 1})), ModelError);
  EXPECT_THROW((void)accuracy(at::Tensor(), classes({0, 1})), ModelError);
  EXPECT_THROW((void)accuracy(classes({0, 1}), at::Tensor()), ModelError);
  EXPECT_EQ(error_text<ConfigError>([] { Accuracy({.top_k = 0}); }), "[Accuracy] top_k must be at least 1, got 0.");
}

TEST(AccuracyTest, AnEmptyBatchAddsNothing) {
  SingleProcessCommunicator communicator;
  Accuracy metric;
  metric.update(at::zeros({0, 3}), at::zeros({0}, at::kLong));
  metric.update(classes({1}), classes({1}));
  EXPECT_EQ(metric.compute(communicator), 1.0);
}

}  // namespace
}  // namespace levin
