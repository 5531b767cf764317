// The metrics against scikit-learn's results; see tests/parity/metrics.

#include <ATen/ops/log.h>
#include <gtest/gtest.h>

#include <cmath>

#include "trainer/checkpoint/state_file.h"
#include "trainer/metrics/accuracy.h"
#include "trainer/metrics/auroc.h"
#include "trainer/metrics/confusion_matrix.h"
#include "trainer/metrics/f1_score.h"
#include "trainer/metrics/mean_squared_error.h"
#include "trainer/metrics/perplexity.h"

namespace levin {
namespace {

// Both sides compute in double; sums run in another order.
constexpr double kTolerance = 1e-12;
constexpr int64_t kNumClasses = 5;
constexpr int64_t kBatchSize = 10;  // the last batch has 7

class ScikitLearnTest : public testing::Test {
 protected:
  at::Tensor input(const char* name) const { return golden_.tensor(name); }
  double expected(const std::string& name) const { return golden_.tensor("expected." + name).item().toDouble(); }

  template <class M>
  double result(M metric, const char* predictions, const char* targets) {
    update(metric, predictions, targets);
    return metric.compute(communicator_);
  }
  template <class M>
  void update(M& metric, const char* predictions, const char* targets) const {
    const std::vector<at::Tensor> batches = input(predictions).split(kBatchSize);
    const std::vector<at::Tensor> labels = input(targets).split(kBatchSize);
    for (size_t i = 0; i < batches.size(); ++i) metric.update(batches[i], labels[i]);
  }

  StateDict golden_ = read_state_tensors("tests/parity/metrics/scikit_learn.safetensors");
  SingleProcessCommunicator communicator_;
};

TEST_F(ScikitLearnTest, Accuracy) {
  EXPECT_NEAR(result(levin::Accuracy(), "scores", "targets"), expected("accuracy"), kTolerance);
  EXPECT_NEAR(result(levin::Accuracy({.top_k = 2}), "scores", "targets"), expected("accuracy_top_2"), kTolerance);
  EXPECT_NEAR(result(levin::Accuracy({.threshold = 0.35}), "binary_scores", "binary_targets"),
              expected("accuracy_binary"), kTolerance);
}

TEST_F(ScikitLearnTest, F1Score) {
  for (const auto& [average, name] :
       {std::pair(F1Average::kMacro, "f1_macro"), std::pair(F1Average::kMicro, "f1_micro"),
        std::pair(F1Average::kWeighted, "f1_weighted")}) {
    levin::F1Score metric({.num_classes = kNumClasses, .average = average});
    EXPECT_NEAR(result(metric, "scores", "targets"), expected(name), kTolerance) << name;
  }
  EXPECT_NEAR(result(levin::F1Score({.threshold = 0.35}), "binary_scores", "binary_targets"), expected("f1_binary"),
              kTolerance);
}

TEST_F(ScikitLearnTest, F1ScorePerClass) {
  levin::F1Score metric({.num_classes = kNumClasses, .average = F1Average::kMacro});
  update(metric, "scores", "targets");
  const std::vector<double> scores = metric.per_class(communicator_);
  const at::Tensor expected_scores = input("expected.f1_per_class");
  ASSERT_EQ(static_cast<int64_t>(scores.size()), expected_scores.numel());
  for (int64_t i = 0; i < kNumClasses; ++i) {
    EXPECT_NEAR(scores[static_cast<size_t>(i)], expected_scores[i].item().toDouble(), kTolerance) << i;
  }
}

TEST_F(ScikitLearnTest, Auroc) {
  EXPECT_NEAR(result(levin::Auroc(), "binary_scores", "binary_targets"), expected("auroc_binary"), kTolerance);
  EXPECT_NEAR(result(levin::Auroc({.num_classes = kNumClasses}), "coarse", "targets"), expected("auroc_macro"),
              kTolerance);
}

TEST_F(ScikitLearnTest, MeanSquaredError) {
  EXPECT_NEAR(result(levin::MeanSquaredError(), "estimates", "values"), expected("mean_squared_error"), kTolerance);
  EXPECT_NEAR(result(levin::MeanSquaredError({.root = true}), "estimates", "values"),
              expected("root_mean_squared_error"), kTolerance);
}

TEST_F(ScikitLearnTest, Perplexity) {
  EXPECT_NEAR(result(levin::Perplexity(), "scores", "targets"), expected("perplexity"), kTolerance);
}

TEST_F(ScikitLearnTest, ConfusionMatrix) {
  levin::ConfusionMatrix metric({.num_classes = kNumClasses});
  update(metric, "scores", "targets");
  EXPECT_TRUE(metric.counts(communicator_).equal(input("expected.confusion_matrix")));
}

}  // namespace
}  // namespace levin
