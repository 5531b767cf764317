#include "trainer/metrics/confusion_matrix.h"

#include <ATen/ops/equal.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "tests/trainer/core/error_text.h"
#include "tests/trainer/core/thread_ranks.h"
#include "trainer/core/error.h"

namespace levin {
namespace {

at::Tensor classes(std::vector<int64_t> values) { return at::tensor(values); }

void expect_counts(const ConfusionMatrix& metric, std::vector<int64_t> expected, int64_t num_classes) {
  SingleProcessCommunicator communicator;
  const at::Tensor counts = metric.counts(communicator);
  EXPECT_EQ(counts.scalar_type(), at::kLong);
  EXPECT_TRUE(counts.equal(at::tensor(expected).reshape({num_classes, num_classes}))) << counts;
}

TEST(ConfusionMatrixTest, RowsAreTargets) {
  ConfusionMatrix metric({.num_classes = 3});
  metric.update(classes({0, 2, 1, 1, 0}), classes({0, 1, 1, 2, 2}));
  expect_counts(metric, {1, 0, 0, 0, 1, 1, 1, 1, 0}, 3);
}

TEST(ConfusionMatrixTest, IgnoredTargetsDoNotCount) {
  ConfusionMatrix metric({.num_classes = 2});
  metric.update(classes({0, 1, 7}), classes({0, -100, -100}));
  expect_counts(metric, {1, 0, 0, 0}, 2);
  ConfusionMatrix without_zero({.num_classes = 2, .ignore_index = 0});
  without_zero.update(classes({0, 1, 0}), classes({0, 1, 1}));
  expect_counts(without_zero, {0, 0, 1, 1}, 2);
}

TEST(ConfusionMatrixTest, TakesScores) {
  ConfusionMatrix binary;
  binary.update(at::tensor({0.2F, 0.9F, 0.6F}), classes({0, 1, 0}));
  expect_counts(binary, {1, 1, 0, 1}, 2);
  ConfusionMatrix multiclass({.num_classes = 3});
  multiclass.update(at::tensor({0.F, 1.F, 5.F, 3.F, 1.F, 2.F}).reshape({2, 3}), classes({2, 1}));
  expect_counts(multiclass, {0, 0, 0, 1, 0, 0, 0, 0, 1}, 3);
}

TEST(ConfusionMatrixTest, RanksAreAdded) {
  ThreadRanks ranks(3);
  const auto errors = ranks.run([](Communicator& communicator) {
    ConfusionMatrix metric;
    if (communicator.rank() > 0) metric.update(classes({0, 1}), classes({0, communicator.rank() - 1}));
    EXPECT_TRUE(metric.counts(communicator).equal(classes({2, 1, 0, 1}).reshape({2, 2})));
  });
  EXPECT_EQ(errors, std::vector<std::string>(3));
}

TEST(ConfusionMatrixTest, NothingSeenIsZero) { expect_counts(ConfusionMatrix(), {0, 0, 0, 0}, 2); }

TEST(ConfusionMatrixTest, TheStateIsSavedAndMerged) {
  ConfusionMatrix first;
  first.update(classes({0, 1}), classes({0, 0}));
  ConfusionMatrix second;
  second.update(classes({1}), classes({1}));
  second.merge_state(first.state());
  expect_counts(second, {1, 1, 0, 1}, 2);
  second.load_state(first.state());
  expect_counts(second, {1, 1, 0, 0}, 2);
  second.update(classes({1}), classes({1}));
  expect_counts(first, {1, 1, 0, 0}, 2);  // nothing is shared
  EXPECT_EQ(
      error_text<CheckpointError>([&] { ConfusionMatrix({.num_classes = 3}).load_state(first.state()); }),
      "[ConfusionMatrix] the saved entry \"counts\" must be int64 [10], got int64 [5]. Are the options the same?");
}

TEST(ConfusionMatrixTest, WrongInputsAreErrors) {
  SingleProcessCommunicator communicator;
  EXPECT_EQ(error_text<ConfigError>([] { ConfusionMatrix({.num_classes = 1}); }),
            "[ConfusionMatrix] num_classes must be at least 2, got 1.");
  ConfusionMatrix metric({.num_classes = 3});
  EXPECT_EQ(error_text<ModelError>([&] {
              metric.update(at::zeros({2, 4}), classes({0, 1}));
            }),
            "[ConfusionMatrix] scores must be of 3 classes, [N, C, ...], got predictions float32 [2, 4] and targets "
            "int64 [2].");
  EXPECT_THROW(metric.update(at::zeros({2}), classes({0, 1})), ModelError);
  metric.update(classes({3, 0, 0}), classes({0, 3, -1}));
  EXPECT_EQ(error_text<ModelError>([&] { (void)metric.counts(communicator); }),
            "[ConfusionMatrix] classes must be at least 0 and below the number of classes, 3 were not. Targets that "
            "should not count must be equal to ignore_index.");
}

}  // namespace
}  // namespace levin
