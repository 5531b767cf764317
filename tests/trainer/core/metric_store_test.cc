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
#include "trainer/core/error.h"

namespace levin {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

using Names = std::vector<std::string>;

// Rank 0 of two. The other rank's contributions to the collectives are given, in order.
class TwoRanks final : public Communicator {
 public:
  explicit TwoRanks(std::vector<double> others) : others_(std::move(others)) {}

  int64_t rank() const override { return 0; }
  int64_t world_size() const override { return 2; }
  void all_reduce(at::Tensor& tensor, ReduceOp op) override {
    ASSERT_LT(calls_, others_.size());
    ASSERT_EQ(tensor.scalar_type(), at::kDouble);
    double& mine = *tensor.mutable_data_ptr<double>();
    const double other = others_[calls_++];
    if (op == ReduceOp::kSum) mine += other;
    if (op == ReduceOp::kMin) mine = std::min(mine, other);
    if (op == ReduceOp::kMax) mine = std::max(mine, other);
    ASSERT_NE(op, ReduceOp::kMean);  // of integers it truncates (Lightning #21838); a mean of means is wrong as well
  }
  void broadcast(at::Tensor&, int64_t) override {}
  void barrier() override {}

 private:
  std::vector<double> others_;
  size_t calls_ = 0;
};

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
       {LogOptions{.on_step = true}, LogOptions{.on_epoch = true}, LogOptions{.reduce = Reduce::kSum},
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

TEST(MetricStoreTest, RanksAreReducedBySumsAndWeights) {
  // B3: rank 0 has 3 samples of 1.0, rank 1 has 2 of 0.0: 3 / 5.
  MetricStore store(Stage::kValidate);
  store.log("acc", 1.0, {}, 3.0);
  TwoRanks ranks({0.0, 2.0});
  EXPECT_EQ(store.epoch_metrics(ranks).find("acc"), 0.6);
}

TEST(MetricStoreTest, ARankWithoutSamplesGivesNoNaN) {
  MetricStore with_samples(Stage::kValidate);
  with_samples.log("acc", 1.0, {}, 3.0);
  TwoRanks other_is_empty({0.0, 0.0});
  EXPECT_EQ(with_samples.epoch_metrics(other_is_empty).find("acc"), 1.0);

  MetricStore empty(Stage::kValidate);
  empty.log("acc", kNaN, {}, 0.0);
  TwoRanks other_has_samples({3.0, 3.0});
  EXPECT_EQ(empty.epoch_metrics(other_has_samples).find("acc"), 1.0);
  TwoRanks both_are_empty({0.0, 0.0});
  EXPECT_TRUE(empty.epoch_metrics(both_are_empty).empty());
}

TEST(MetricStoreTest, RanksAreReducedBySumMinAndMax) {
  const std::vector<std::pair<Reduce, double>> expected = {
      {Reduce::kSum, 9.0}, {Reduce::kMin, 2.0}, {Reduce::kMax, 7.0}};
  for (const auto& [reduce, value] : expected) {
    MetricStore store(Stage::kValidate);
    store.log("x", 2.0, {.reduce = reduce}, 3.0);
    TwoRanks ranks({7.0, 3.0});
    EXPECT_EQ(store.epoch_metrics(ranks).find("x"), value);
  }
}

TEST(MetricStoreTest, ARankWithoutSamplesIsNeutral) {
  const std::vector<std::pair<Reduce, double>> neutral = {
      {Reduce::kSum, 0.0}, {Reduce::kMin, kInf}, {Reduce::kMax, -kInf}};
  for (const auto& [reduce, value] : neutral) {
    MetricStore store(Stage::kValidate);
    store.log("x", 5.0, {.reduce = reduce}, 3.0);
    TwoRanks ranks({value, 0.0});
    EXPECT_EQ(store.epoch_metrics(ranks).find("x"), 5.0);
  }
}

}  // namespace
}  // namespace levin
