// What holds for every metric: batches, ranks, saved states and devices change nothing.

#include <ATen/ops/arange.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <memory>

#include "tests/trainer/core/error_text.h"
#include "tests/trainer/core/thread_ranks.h"
#include "trainer/core/error.h"
#include "trainer/core/metric_store.h"
#include "trainer/metrics/accuracy.h"
#include "trainer/metrics/auroc.h"
#include "trainer/metrics/f1_score.h"
#include "trainer/metrics/mean_squared_error.h"
#include "trainer/metrics/perplexity.h"

namespace levin {
namespace {

constexpr int64_t kNumSamples = 23;
constexpr int64_t kNumClasses = 3;

// Fixed values with ties: [kNumSamples, kNumClasses] and [kNumSamples].
at::Tensor scores() {
  return at::arange(kNumSamples * kNumClasses).mul(37).remainder(17).div(16.0).reshape({kNumSamples, kNumClasses});
}
at::Tensor labels() { return at::arange(kNumSamples).mul(7).remainder(5).remainder(kNumClasses); }

struct Case {
  std::string name;
  std::function<std::unique_ptr<ScalarMetric>()> make;
  std::function<void(ScalarMetric&, const at::Tensor& scores, const at::Tensor& labels)> update;
};

template <class M, class Options>
Case make_case(std::string name, Options options, bool is_binary = false, bool is_regression = false) {
  return {.name = std::move(name),
          .make = [=] { return std::make_unique<M>(options); },
          .update =
              [=](ScalarMetric& metric, const at::Tensor& s, const at::Tensor& t) {
                const at::Tensor column = s.select(1, 0);
                if (is_regression) return dynamic_cast<M&>(metric).update(column, t);
                is_binary ? dynamic_cast<M&>(metric).update(column, t.eq(1)) : dynamic_cast<M&>(metric).update(s, t);
              }};
}

class EveryMetricTest : public testing::TestWithParam<Case> {
 protected:
  std::unique_ptr<ScalarMetric> make() const { return GetParam().make(); }
  void update(ScalarMetric& metric, int64_t begin, int64_t end) const {
    GetParam().update(metric, scores().slice(0, begin, end), labels().slice(0, begin, end));
  }
  double compute(const ScalarMetric& metric) {
    SingleProcessCommunicator communicator;
    return metric.compute(communicator);
  }
  double of_all() {
    const auto metric = make();
    update(*metric, 0, kNumSamples);
    return compute(*metric);
  }
};

TEST_P(EveryMetricTest, BatchesDoNotMatter) {
  const auto metric = make();
  for (const auto& [begin, end] : {std::pair(0, 10), std::pair(10, 20), std::pair(20, 20), std::pair(20, 23)}) {
    update(*metric, begin, end);
  }
  EXPECT_TRUE(std::isfinite(of_all()));
  EXPECT_DOUBLE_EQ(compute(*metric), of_all());
}

TEST_P(EveryMetricTest, RanksDoNotMatter) {
  // B3, B6. The last rank sees nothing.
  for (int64_t world_size = 1; world_size <= 4; ++world_size) {
    ThreadRanks ranks(world_size + 1);
    const auto errors = ranks.run([&](Communicator& communicator) {
      const auto metric = make();
      for (int64_t i = communicator.rank(); i < kNumSamples && communicator.rank() < world_size; i += world_size) {
        update(*metric, i, i + 1);
      }
      EXPECT_DOUBLE_EQ(metric->compute(communicator), of_all()) << world_size;
    });
    EXPECT_EQ(errors, std::vector<std::string>(errors.size()));
  }
}

TEST_P(EveryMetricTest, ARankWithoutTheMetricDoesNotMatter) {
  ThreadRanks ranks(3);
  const auto errors = ranks.run([&](Communicator& communicator) {
    MetricStore store(Stage::kValidate);
    const auto metric = make();
    if (communicator.rank() > 0) {
      update(*metric, communicator.rank() == 1 ? 0 : 9, communicator.rank() == 1 ? 9 : kNumSamples);
      store.log("x", *metric, {});
    }
    EXPECT_DOUBLE_EQ(store.epoch_metrics(communicator).find("x").value(), of_all());
  });
  EXPECT_EQ(errors, std::vector<std::string>(3));
}

TEST_P(EveryMetricTest, NothingSeenIsNaN) {
  EXPECT_TRUE(std::isnan(compute(*make())));
  ThreadRanks ranks(2);
  const auto errors =
      ranks.run([&](Communicator& communicator) { EXPECT_TRUE(std::isnan(make()->compute(communicator))); });
  EXPECT_EQ(errors, std::vector<std::string>(2));
}

TEST_P(EveryMetricTest, ASavedStateContinuesWithTheSameBits) {
  const auto straight = make();
  update(*straight, 0, 10);
  const StateDict saved = straight->state();
  update(*straight, 10, kNumSamples);
  const auto resumed = make();
  update(*resumed, 0, 3);  // is replaced
  resumed->load_state(saved);
  update(*resumed, 10, kNumSamples);
  EXPECT_EQ(compute(*resumed), compute(*straight));
  resumed->load_state(saved);
  update(*resumed, 10, kNumSamples);
  EXPECT_EQ(compute(*resumed), compute(*straight));
}

TEST_P(EveryMetricTest, AStateMayBeMergedLater) {
  const auto straight = make();
  update(*straight, 0, 10);
  const StateDict saved = straight->state();
  update(*straight, 10, kNumSamples);
  const auto resumed = make();
  update(*resumed, 10, kNumSamples);
  resumed->merge_state(saved);
  EXPECT_EQ(compute(*resumed), compute(*straight));
}

TEST_P(EveryMetricTest, AStateOfNothingIsNothing) {
  const auto metric = make();
  metric->load_state(make()->state());
  EXPECT_TRUE(std::isnan(compute(*metric)));
}

TEST_P(EveryMetricTest, AStateThatDoesNotFitIsAnError) {
  const auto metric = make();
  update(*metric, 0, kNumSamples);
  EXPECT_THROW(metric->merge_state({}), CheckpointError);
  StateDict other;
  for (const auto& [name, value] : metric->state()) {
    const bool is_tensor = std::holds_alternative<at::Tensor>(value);
    other.set(name, is_tensor ? StateDict::Value(at::zeros({2, 9}, at::kHalf)) : value);
  }
  EXPECT_THROW(metric->merge_state(other), CheckpointError);
  EXPECT_EQ(compute(*metric), of_all());
}

TEST_P(EveryMetricTest, ResetForgets) {
  const auto metric = make();
  update(*metric, 0, 9);
  metric->reset();
  EXPECT_TRUE(std::isnan(compute(*metric)));
  update(*metric, 0, kNumSamples);
  EXPECT_EQ(compute(*metric), of_all());
}

TEST_P(EveryMetricTest, UpdateDoesNotReadTheDevice) {
  // Meta tensors are on a device without memory: reading one throws.
  const auto metric = make();
  for (int batch = 0; batch < 2; ++batch) GetParam().update(*metric, scores().to(at::kMeta), labels().to(at::kMeta));
  for (const auto& [name, value] : metric->state()) {
    if (const auto* tensor = std::get_if<at::Tensor>(&value)) {
      EXPECT_TRUE(tensor->is_meta()) << name;
    }
  }
}

TEST_P(EveryMetricTest, TargetsMayBeOnAnotherDevice) {
  const auto metric = make();
  GetParam().update(*metric, scores().to(at::kMeta), labels());
  EXPECT_TRUE(metric->state().begin() != metric->state().end());
}

INSTANTIATE_TEST_SUITE_P(
    All, EveryMetricTest,
    testing::Values(make_case<Accuracy>("Accuracy", AccuracyOptions{}),
                    make_case<Accuracy>("AccuracyTop2", AccuracyOptions{.top_k = 2}),
                    make_case<Accuracy>("AccuracyBinary", AccuracyOptions{}, /*is_binary=*/true),
                    make_case<F1Score>("F1Macro", F1ScoreOptions{.num_classes = 3, .average = F1Average::kMacro}),
                    make_case<F1Score>("F1Micro", F1ScoreOptions{.num_classes = 3, .average = F1Average::kMicro}),
                    make_case<F1Score>("F1Weighted", F1ScoreOptions{.num_classes = 3, .average = F1Average::kWeighted}),
                    make_case<F1Score>("F1Binary", F1ScoreOptions{}, /*is_binary=*/true),
                    make_case<Auroc>("AurocMacro", AurocOptions{.num_classes = 3}),
                    make_case<Auroc>("AurocBinary", AurocOptions{}, /*is_binary=*/true),
                    make_case<MeanSquaredError>("MeanSquaredError", MeanSquaredErrorOptions{}, false, true),
                    make_case<MeanSquaredError>("RootMeanSquaredError", MeanSquaredErrorOptions{.root = true}, false,
                                                true),
                    make_case<Perplexity>("Perplexity", PerplexityOptions{})),
    [](const auto& param_info) { return param_info.param.name; });

}  // namespace
}  // namespace levin
