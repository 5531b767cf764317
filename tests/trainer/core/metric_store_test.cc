#include "trainer/core/metric_store.h"

#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "tests/trainer/core/error_text.h"
#include "tests/trainer/core/fake_metric.h"
#include "trainer/core/error.h"

namespace levin {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

using Names = std::vector<std::string>;

Metrics epoch(MetricStore& store) {
  SingleProcessCommunicator communicator;
  return store.epoch_metrics(communicator);
}

// The reduction of `values`, each with weight 1.
double reduced(Reduce reduce, const std::vector<double>& values) {
  MetricStore store(Stage::kValidate);
  for (const double value : values) store.log("x", value, {.reduce = reduce}, 1.0);
  return epoch(store).find("x").value();
}

Names names(const Metrics& metrics) {
  Names result;
  for (const auto& [name, value] : metrics) result.push_back(name);
  return result;
}

TEST(MetricStoreTest, EpochMeanIsWeightedByTheBatchSize) {
  MetricStore store(Stage::kValidate);
  const std::vector<std::pair<double, double>> batches = {{0.7, 256}, {0.8, 256}, {0.9, 10}};
  for (const auto& [value, size] : batches) {
    store.log("acc", value, {}, size);
    store.end_step();
  }
  // B3: (0.7 * 256 + 0.8 * 256 + 0.9 * 10) / 522 = 393 / 522.
  EXPECT_NEAR(epoch(store).find("acc").value(), 0.752874, 1e-6);
}

TEST(MetricStoreTest, TrainingLogsStepsByDefault) {
  MetricStore store(Stage::kTrain);
  store.log("loss", 0.5, {}, 4.0);
  store.end_step();
  EXPECT_EQ(names(store.step_metrics()), Names{"loss"});
  EXPECT_TRUE(epoch(store).empty());
}

TEST(MetricStoreTest, EvaluationLogsEpochsByDefault) {
  for (const Stage stage : {Stage::kValidate, Stage::kTest, Stage::kPredict}) {
    MetricStore store(stage);
    store.log("loss", 0.5, {}, 4.0);
    store.end_step();
    EXPECT_TRUE(store.step_metrics().empty());
    EXPECT_EQ(names(epoch(store)), Names{"loss"});
  }
}

TEST(MetricStoreTest, StepAndEpochTogetherHaveSuffixes) {
  MetricStore store(Stage::kTrain);
  store.log("loss", 1.0, {.on_step = true, .on_epoch = true}, 1.0);
  store.end_step();
  store.log("loss", 2.0, {.on_step = true, .on_epoch = true}, 3.0);
  store.end_step();
  EXPECT_EQ(names(store.step_metrics()), Names{"loss_step"});
  EXPECT_EQ(store.step_metrics().find("loss_step"), 2.0);
  EXPECT_EQ(names(epoch(store)), Names{"loss_epoch"});
  EXPECT_EQ(epoch(store).find("loss_epoch"), 1.75);  // (1 * 1 + 2 * 3) / 4
}

TEST(MetricStoreTest, OneOfTheTwoHasThePlainName) {
  MetricStore store(Stage::kTrain);
  store.log("loss", 1.0, {.on_step = false, .on_epoch = true}, 1.0);
  store.end_step();
  EXPECT_TRUE(store.step_metrics().empty());
  EXPECT_EQ(names(epoch(store)), Names{"loss"});
}

TEST(MetricStoreTest, NeitherStepNorEpochIsAnError) {
  MetricStore store(Stage::kTrain);
  EXPECT_EQ(error_text<ConfigError>([&] { store.log("loss", 1.0, {.on_step = false}, 1.0); }),
            "[log] \"loss\": on_step and on_epoch are both false, so nothing would be logged.");
}

TEST(MetricStoreTest, ReducesBySumMinAndMax) {
  EXPECT_EQ(reduced(Reduce::kMean, {3.0, -1.0, 4.0}), 2.0);
  EXPECT_EQ(reduced(Reduce::kSum, {3.0, -1.0, 4.0}), 6.0);
  EXPECT_EQ(reduced(Reduce::kMin, {3.0, -1.0, 4.0}), -1.0);
  EXPECT_EQ(reduced(Reduce::kMax, {3.0, -1.0, 4.0}), 4.0);
}

TEST(MetricStoreTest, ASumIsNotWeighted) {
  MetricStore store(Stage::kTest);
  store.log("num_correct", 3.0, {.reduce = Reduce::kSum}, 10.0);
  store.log("num_correct", 4.0, {.reduce = Reduce::kSum}, 10.0);
  EXPECT_EQ(epoch(store).find("num_correct"), 7.0);
}

TEST(MetricStoreTest, NaNStaysVisible) {
  for (const Reduce reduce : {Reduce::kMean, Reduce::kSum, Reduce::kMin, Reduce::kMax}) {
    EXPECT_TRUE(std::isnan(reduced(reduce, {1.0, kNaN, 2.0}))) << static_cast<int>(reduce);
    EXPECT_TRUE(std::isnan(reduced(reduce, {kNaN, 1.0}))) << static_cast<int>(reduce);
  }
}

TEST(MetricStoreTest, OptionsWeightReplacesTheBatchSize) {
  MetricStore store(Stage::kValidate);
  store.log("loss", 1.0, {.weight = 30.0}, 1.0);
  store.log("loss", 2.0, {.weight = 10.0}, 1.0);
  EXPECT_EQ(epoch(store).find("loss"), 1.25);  // (1 * 30 + 2 * 10) / 40
}

TEST(MetricStoreTest, ANameWithoutWeightIsLeftOutOfTheEpoch) {
  for (const Reduce reduce : {Reduce::kMean, Reduce::kSum, Reduce::kMin, Reduce::kMax}) {
    MetricStore store(Stage::kValidate);
    store.log("empty", 5.0, {.reduce = reduce, .weight = 0.0}, 1.0);
    store.log("full", 1.0, {}, 1.0);
    EXPECT_EQ(names(epoch(store)), Names{"full"});
  }
}

TEST(MetricStoreTest, AValueWithoutWeightDoesNotCount) {
  MetricStore store(Stage::kValidate);
  store.log("loss", kNaN, {}, 0.0);  // the mean of no token
  store.log("loss", 2.0, {}, 3.0);
  EXPECT_EQ(epoch(store).find("loss"), 2.0);
}

TEST(MetricStoreTest, ConflictingOptionsAreAnError) {
  const std::string text =
      "[log] \"loss\" was logged before with other options. Use the same on_step, on_epoch, reduce, prog_bar and "
      "logger in every call, or another name.";
  for (const LogOptions& other :
       {LogOptions{.on_step = true}, LogOptions{.on_epoch = false}, LogOptions{.reduce = Reduce::kSum},
        LogOptions{.prog_bar = true}, LogOptions{.logger = false}}) {
    MetricStore store(Stage::kValidate);
    store.log("loss", 1.0, {}, 1.0);
    EXPECT_EQ(error_text<ConfigError>([&] { store.log("loss", 1.0, other, 1.0); }), text);
    EXPECT_EQ(epoch(store).find("loss"), 1.0);
  }
}

TEST(MetricStoreTest, TheWeightMayDifferBetweenCalls) {
  MetricStore store(Stage::kValidate);
  store.log("loss", 1.0, {.weight = 2.0}, 1.0);
  store.log("loss", 1.0, {}, 1.0);
  EXPECT_EQ(epoch(store).find("loss"), 1.0);
}

TEST(MetricStoreTest, AValueNeedsExactlyOneElement) {
  MetricStore store(Stage::kTrain);
  EXPECT_EQ(error_text<ModelError>([&] { store.log("loss", at::zeros({2}), {}, 1.0); }),
            "[log] \"loss\" must be a tensor with one element, got float32 [2].");
  EXPECT_EQ(error_text<ModelError>([&] { store.log("loss", at::zeros({0}), {}, 1.0); }),
            "[log] \"loss\" must be a tensor with one element, got float32 [0].");
  EXPECT_EQ(error_text<ModelError>([&] { store.log("loss", at::Tensor(), {}, 1.0); }),
            "[log] \"loss\" must be a tensor with one element, got undefined.");
}

TEST(MetricStoreTest, ReadsTensorsOfEachType) {
  for (const at::ScalarType dtype :
       {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16, at::kLong, at::kInt, at::kByte}) {
    MetricStore store(Stage::kTrain);
    store.log("x", at::full({}, 3, dtype), {}, 1.0);
    store.log("y", at::full({1, 1}, 5, dtype), {}, 1.0);
    store.end_step();
    EXPECT_EQ(store.step_metrics().find("x"), 3.0) << dtype;
    EXPECT_EQ(store.step_metrics().find("y"), 5.0) << dtype;
    EXPECT_TRUE(store.is_on_host());
  }
}

TEST(MetricStoreTest, ReadsAnElementOfALargerTensor) {
  MetricStore store(Stage::kTrain);
  const at::Tensor values = at::zeros({3}, at::kFloat);
  values[1].fill_(0.25);
  store.log("x", values[1], {}, 1.0);
  store.end_step();
  EXPECT_EQ(store.step_metrics().find("x"), 0.25);
}

TEST(MetricStoreTest, KeepsTheValueOfTheCall) {
  MetricStore store(Stage::kTrain);
  const at::Tensor value = at::ones({});
  store.log("x", value, {}, 1.0);
  value.fill_(9.0);
  store.end_step();
  EXPECT_EQ(store.step_metrics().find("x"), 1.0);
}

TEST(MetricStoreTest, ALoggedTensorDoesNotKeepItsGraph) {
  MetricStore store(Stage::kTrain);
  at::Tensor loss = at::ones({3}).requires_grad_().mul(2).sum();
  ASSERT_TRUE(loss.requires_grad());
  const c10::weak_intrusive_ptr<c10::TensorImpl> tensor(loss.getIntrusivePtr());
  const std::weak_ptr<torch::autograd::Node> graph = loss.grad_fn();
  ASSERT_FALSE(graph.expired());

  store.log("loss", loss, {.on_step = true, .on_epoch = true}, 1.0);
  store.end_step();
  loss.reset();

  EXPECT_TRUE(tensor.expired());
  EXPECT_TRUE(graph.expired());
  EXPECT_EQ(store.step_metrics().find("loss_step"), 6.0);
}

TEST(MetricStoreTest, MemoryIsBoundedByTheNumberOfNames) {
  MetricStore store(Stage::kTrain);
  for (int step = 0; step < 10'000; ++step) {
    for (const char* name : {"loss", "accuracy", "lr"}) {
      store.log(name, at::ones({}), {.on_step = true, .on_epoch = true}, 2.0);
    }
    store.end_step();
    if (step % 1000 == 0) {
      EXPECT_EQ(store.latest(/*only_prog_bar=*/false).size(), 3);
    }
  }
  EXPECT_EQ(names(store.step_metrics()), (Names{"loss_step", "accuracy_step", "lr_step"}));
  EXPECT_EQ(names(epoch(store)), (Names{"loss_epoch", "accuracy_epoch", "lr_epoch"}));
  EXPECT_EQ(epoch(store).find("loss_epoch"), 1.0);
}

TEST(MetricStoreTest, ANameMayComeAndGoInAnyOrder) {
  MetricStore store(Stage::kTrain);
  const std::vector<Names> steps = {{"a", "b"}, {"b", "a"}, {"b"}, {"c", "a", "b"}};
  for (const Names& step : steps) {
    for (size_t i = 0; i < step.size(); ++i) store.log(step[i], static_cast<double>(i), {}, 1.0);
    store.end_step();
    const Metrics metrics = store.step_metrics();
    EXPECT_EQ(metrics.size(), step.size());
    for (size_t i = 0; i < step.size(); ++i) EXPECT_EQ(metrics.find(step[i]), static_cast<double>(i));
  }
}

TEST(MetricStoreTest, AStepWithoutLoggingHasNoStepMetrics) {
  MetricStore store(Stage::kTrain);
  store.log("loss", 1.0, {}, 1.0);
  store.end_step();
  store.end_step();
  EXPECT_TRUE(store.step_metrics().empty());
  EXPECT_EQ(store.latest(false).find("loss"), 1.0);
}

TEST(MetricStoreTest, ResetForgetsTheEpoch) {
  MetricStore store(Stage::kValidate);
  for (const Reduce reduce : {Reduce::kMean, Reduce::kMin, Reduce::kMax}) {
    store.log(std::to_string(static_cast<int>(reduce)), 1.0, {.reduce = reduce}, 1.0);
  }
  store.reset_epoch();
  EXPECT_TRUE(epoch(store).empty());
  for (const Reduce reduce : {Reduce::kMean, Reduce::kMin, Reduce::kMax}) {
    store.log(std::to_string(static_cast<int>(reduce)), 5.0, {.reduce = reduce}, 1.0);
  }
  for (const auto& [name, value] : epoch(store)) EXPECT_EQ(value, 5.0) << name;
  EXPECT_EQ(epoch(store).size(), 3);
}

TEST(MetricStoreTest, LatestHasPlainNames) {
  MetricStore store(Stage::kTrain);
  store.log("loss", 3.0, {.on_step = true, .on_epoch = true, .prog_bar = true}, 1.0);
  store.log("accuracy", 0.5, {.on_step = false, .on_epoch = true}, 1.0);
  store.end_step();
  EXPECT_EQ(names(store.latest(/*only_prog_bar=*/false)), (Names{"loss", "accuracy"}));
  EXPECT_EQ(names(store.latest(/*only_prog_bar=*/true)), Names{"loss"});
}

TEST(MetricStoreTest, LoggersDoNotGetWhatIsNotForThem) {
  MetricStore store(Stage::kTrain);
  store.log("hidden", 1.0, {.on_step = true, .on_epoch = true, .logger = false}, 1.0);
  store.log("shown", 1.0, {}, 1.0);
  store.end_step();
  EXPECT_EQ(names(store.step_metrics()), Names{"shown"});
  EXPECT_FALSE(store.goes_to_logger("hidden_step"));
  EXPECT_FALSE(store.goes_to_logger("hidden_epoch"));
  EXPECT_TRUE(store.goes_to_logger("shown"));
  EXPECT_EQ(names(store.latest(false)), (Names{"hidden", "shown"}));
}

TEST(MetricStoreTest, ADefaultSaidAloudIsNoOtherOption) {
  MetricStore store(Stage::kValidate);
  store.log("loss", 1.0, {}, 1.0);
  store.log("loss", 3.0, {.on_step = false, .on_epoch = true}, 1.0);
  EXPECT_EQ(epoch(store).find("loss"), 2.0);
}

TEST(MetricStoreTest, ABadWeightIsAnError) {
  MetricStore store(Stage::kValidate);
  store.log("loss", 1.0, {}, 1.0);
  EXPECT_EQ(error_text<ModelError>([&] { store.log("loss", 5.0, {.weight = -1.5}, 1.0); }),
            "[log] \"loss\": the weight must be finite and at least 0, got -1.5.");
  for (const double weight : {kNaN, kInf, -kInf}) {
    EXPECT_THROW(store.log("loss", 5.0, {}, weight), ModelError);
    EXPECT_THROW(store.log("loss", at::ones({}), {}, weight), ModelError);
    EXPECT_THROW(store.log("new", 5.0, {.weight = weight}, 1.0), ModelError);
  }
  EXPECT_EQ(epoch(store).find("loss"), 1.0);
  EXPECT_FALSE(store.has("new"));
}

TEST(MetricStoreTest, AConstantLossIsShownAsItIsWhileAccumulating) {
  // B33: the loss is 2 in each of four micro-batches: a window mean or sum must not appear.
  MetricStore store(Stage::kTrain);
  for (int micro_batch = 0; micro_batch < 4; ++micro_batch) {
    store.log("loss", at::full({}, 2.0), {.on_step = true, .on_epoch = true, .prog_bar = true}, 8.0);
    store.end_step();
  }
  EXPECT_EQ(store.step_metrics().find("loss_step"), 2.0);
  EXPECT_EQ(store.latest(/*only_prog_bar=*/true).find("loss"), 2.0);
  EXPECT_EQ(epoch(store).find("loss_epoch"), 2.0);
}

TEST(MetricStoreTest, NamesAreKnownWithoutReadingValues) {
  // Meta tensors are on a device without memory: reading one throws.
  const at::Tensor unreadable = at::ones({}, at::TensorOptions(at::kMeta));
  MetricStore store(Stage::kTrain);
  store.log("b", unreadable, {.prog_bar = true}, 1.0);
  store.log("a", unreadable, {.on_epoch = true}, 1.0);
  store.log("c", unreadable, {.prog_bar = true}, 1.0);
  EXPECT_EQ(store.prog_bar_names(), (Names{"b", "c"}));
  EXPECT_TRUE(store.has("a"));
  EXPECT_FALSE(store.has("a_epoch"));
  EXPECT_TRUE(store.shows_in_progress_bar("c"));
  EXPECT_FALSE(store.shows_in_progress_bar("a"));
  EXPECT_FALSE(store.shows_in_progress_bar("d"));
  EXPECT_FALSE(store.is_on_host());
}

TEST(MetricStoreTest, AMetricIsComputedAtTheEndOfTheEpoch) {
  MetricStore store(Stage::kTrain);
  WholeMean mean;
  for (const int64_t value : {2, 3, 7}) {
    mean.update(value);
    store.log("mean", mean, {.prog_bar = true});
    store.end_step();
  }
  EXPECT_TRUE(store.step_metrics().empty());
  EXPECT_EQ(store.latest(/*only_prog_bar=*/true).find("mean"), 4.0);
  EXPECT_FALSE(store.is_on_host());
  EXPECT_EQ(epoch(store).find("mean"), 4.0);

  store.reset_epoch();
  EXPECT_TRUE(epoch(store).empty());
  EXPECT_TRUE(store.latest(false).empty());
  mean.update(10);
  store.log("mean", mean, {.prog_bar = true});
  EXPECT_EQ(epoch(store).find("mean"), 10.0);
}

TEST(MetricStoreTest, AMetricThatIsNotShownIsNotComputedEarly) {
  MetricStore store(Stage::kValidate);
  WholeMean mean;
  mean.update(-1);  // compute() would throw
  store.log("mean", mean, {});
  EXPECT_TRUE(store.latest(false).empty());
  EXPECT_TRUE(store.is_on_host());
  EXPECT_THROW(epoch(store), ModelError);
}

TEST(MetricStoreTest, AMetricThatSawNothingIsNaN) {
  MetricStore store(Stage::kValidate);
  WholeMean mean;
  store.log("mean", mean, {});
  EXPECT_TRUE(std::isnan(epoch(store).find("mean").value()));
}

TEST(MetricStoreTest, AMetricMayDieAfterTheReset) {
  MetricStore store(Stage::kValidate);
  {
    WholeMean mean;
    mean.update(1);
    store.log("mean", mean, {});
    store.reset_epoch();
    EXPECT_EQ(mean.state().integer("count"), 0);
  }
  store.reset_epoch();
  EXPECT_TRUE(epoch(store).empty());
  WholeMean other;
  store.log("mean", other, {});
}

TEST(MetricStoreTest, AMetricTakesOnlyTheOptionsThatMeanSomething) {
  const std::string text =
      "[log] \"mean\" is a metric, which has one value for the epoch and reduces itself. Leave out on_step, on_epoch, "
      "reduce and weight.";
  MetricStore store(Stage::kTrain);
  WholeMean mean;
  for (const LogOptions& options : {LogOptions{.on_step = true}, LogOptions{.on_epoch = false},
                                    LogOptions{.reduce = Reduce::kSum}, LogOptions{.weight = 1.0}}) {
    EXPECT_EQ(error_text<ConfigError>([&] { store.log("mean", mean, options); }), text);
  }
  EXPECT_FALSE(store.has("mean"));
  store.log("mean", mean, {.on_step = false, .on_epoch = true, .logger = false});
  EXPECT_FALSE(store.goes_to_logger("mean"));
}

TEST(MetricStoreTest, OneNameIsOneMetricOrValues) {
  MetricStore store(Stage::kValidate);
  WholeMean mean;
  WholeMean other;
  store.log("mean", mean, {});
  store.log("value", 1.0, {}, 1.0);
  EXPECT_EQ(error_text<ConfigError>([&] { store.log("mean", 1.0, {}, 1.0); }),
            "[log] \"mean\" was logged before as a metric, now as a value. Use another name.");
  EXPECT_EQ(error_text<ConfigError>([&] { store.log("value", mean, {}); }),
            "[log] \"value\" was logged before as a value, now as a metric. Use another name.");
  EXPECT_EQ(error_text<ConfigError>([&] { store.log("mean", other, {}); }),
            "[log] \"mean\" was logged before with another metric in this epoch. Log one metric under one name.");
}

}  // namespace
}  // namespace levin
