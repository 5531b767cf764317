#include <ATen/Parallel.h>
#include <ATen/ops/full.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <stdexcept>
#include <thread>

#include "callbacks/model_checkpoint.h"
#include "tests/trainer/checkpoint/test_files.h"
#include "tests/trainer/recording.h"
#include "tests/trainer/tiny_model.h"
#include "trainer/core/error.h"
#include "trainer/trainer.h"

namespace levin {
namespace {

using std::chrono::steady_clock;
using testing::AllOf;
using testing::HasSubstr;

int64_t num_threads() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return std::distance(begin(tasks), end(tasks));
}

// x = 0.1 * index + noise, y = 2x, after `before_read` has been called with the index.
class Samples final : public SampleDataset {
 public:
  explicit Samples(std::function<void(int64_t)> before_read = {}) : before_read_(std::move(before_read)) {}
  int64_t size() const override { return 24; }
  Batch get_sample(int64_t index, RandomStream& random) const override {
    if (before_read_) before_read_(index);
    const at::Tensor x = at::full({1}, 0.1 * static_cast<double>(index) + 0.01 * random.uniform());
    return Batch::of(x, x * 2);
  }

 private:
  std::function<void(int64_t)> before_read_;
};

DatasetLoader make_loader(int64_t num_workers, const std::function<void(int64_t)>& before_read = {},
                          double timeout = 60.0) {
  return {std::make_shared<Samples>(before_read),
          LoaderOptions{.batch_size = 2, .shuffle = true, .num_workers = num_workers, .timeout = timeout}};
}

TrainerOptions two_epochs() { return quiet({.max_epochs = 2, .intra_op_threads = 1, .seed = 5}); }

double weight_after_fit(const TrainerOptions& options, DatasetLoader& loader) {
  TinyModel model;
  Trainer(options).fit(model, loader);
  return model.weight();
}

TEST(LoaderWorkersInFitTest, AnyNumberOfWorkersTrainsTheSameModel) {
  DatasetLoader none = make_loader(0);
  const double expected = weight_after_fit(two_epochs(), none);
  EXPECT_GT(expected, 0.1);
  for (const int64_t num_workers : {1, 3}) {
    DatasetLoader loader = make_loader(num_workers);
    EXPECT_EQ(weight_after_fit(two_epochs(), loader), expected);
  }
}

TEST(LoaderWorkersInFitTest, AnErrorOfTheDatasetEndsTheRunWithWorkerAndSample) {
  const int64_t before = num_threads();
  std::atomic<bool> is_broken = true;
  DatasetLoader loader = make_loader(2, [&](int64_t index) {
    if (index == 17 && is_broken) throw std::runtime_error("disk on fire");
  });
  TinyModel model;
  Trainer trainer(two_epochs());
  const auto start = steady_clock::now();
  EXPECT_THAT(thrown_text<DataError>([&] { trainer.fit(model, loader); }),
              AllOf(HasSubstr("disk on fire"), HasSubstr("17"), HasSubstr("worker")));
  EXPECT_LT(steady_clock::now() - start, std::chrono::seconds(5));
  EXPECT_EQ(num_threads(), before);

  is_broken = false;
  DatasetLoader none = make_loader(0);
  EXPECT_EQ(weight_after_fit(two_epochs(), loader), weight_after_fit(two_epochs(), none));
}

TEST(LoaderWorkersInFitTest, AWorkerThatHangsMeetsTheTimeout) {
  std::atomic<bool> is_hanging = true;
  std::atomic<bool> has_hung = false;
  DatasetLoader loader = make_loader(
      2,
      [&](int64_t index) {
        if (index != 9) return;
        has_hung = true;
        while (is_hanging) std::this_thread::sleep_for(std::chrono::milliseconds(5));
        has_hung = false;
      },
      0.3);
  TinyModel model;
  Trainer trainer(two_epochs());
  const auto start = steady_clock::now();
  EXPECT_THAT(thrown_text<DataError>([&] { trainer.fit(model, loader); }),
              AllOf(HasSubstr("of 2 hangs"), HasSubstr("0.3")));
  EXPECT_LT(steady_clock::now() - start, std::chrono::seconds(5));
  is_hanging = false;
  while (has_hung) std::this_thread::sleep_for(std::chrono::milliseconds(5));  // it uses this test's variables
}

TEST(LoaderWorkersInFitTest, AnEpochLeftEarlyLeavesNoThread) {
  const int64_t before = num_threads();
  DatasetLoader loader = make_loader(2);
  TinyModel model;
  TrainerOptions options = two_epochs();
  options.limit_train_batches = 2;
  Trainer(options).fit(model, loader);
  EXPECT_EQ(num_threads(), before);

  options = two_epochs();
  options.max_steps = 3;
  Trainer(options).fit(model, loader);
  EXPECT_EQ(num_threads(), before);

  TinyModel broken([](TinyModel& m, const Batch& batch, StepContext& ctx) -> StepOutput {
    if (ctx.batch_idx() == 4) throw std::runtime_error("broken step");
    return m.loss(batch);
  });
  Trainer trainer(two_epochs());
  EXPECT_ANY_THROW(trainer.fit(broken, loader));
  EXPECT_EQ(num_threads(), before);

  // The next fit with the same loader begins anew.
  DatasetLoader none = make_loader(0);
  EXPECT_EQ(weight_after_fit(two_epochs(), loader), weight_after_fit(two_epochs(), none));
}

TEST(LoaderWorkersInFitTest, AResumeWithAnotherNumberOfWorkersGoesOnExactly) {
  DatasetLoader whole = make_loader(0);
  const double expected = weight_after_fit(two_epochs(), whole);
  for (const auto& [first, second] : {std::pair<int64_t, int64_t>{0, 3}, {3, 0}, {2, 1}}) {
    const TestFolder folder;
    TrainerOptions options = two_epochs();
    options.enable_checkpointing = true;
    options.default_root_dir = folder.path();
    options.max_steps = 15;  // in the middle of the second epoch
    TinyModel model;
    DatasetLoader loader = make_loader(first);
    Trainer stopped(options, {.callbacks = {std::make_shared<ModelCheckpoint>(
                                  ModelCheckpoint::Options{.save_last = true, .every_n_train_steps = 5})}});
    stopped.fit(model, loader);
    options.max_steps = -1;
    TinyModel resumed;
    DatasetLoader other = make_loader(second);
    Trainer(options).fit(resumed, other, nullptr, "last");
    EXPECT_EQ(resumed.weight(), expected) << first << " then " << second << " workers";
  }
}

TEST(LoaderWorkersInFitTest, WorkersComputeWithOneThread) {
  std::atomic<int> most_in_workers = 0;
  int in_training = 0;
  DatasetLoader loader = make_loader(
      2, [&](int64_t /*index*/) { most_in_workers = std::max(most_in_workers.load(), at::get_num_threads()); });
  TinyModel model([&](TinyModel& m, const Batch& batch, StepContext& /*ctx*/) {
    in_training = at::get_num_threads();
    return m.loss(batch);
  });
  TrainerOptions options = two_epochs();
  options.intra_op_threads = 2;
  Trainer(options).fit(model, loader);
  EXPECT_EQ(most_in_workers, 1);
  EXPECT_EQ(in_training, 2);
}

}  // namespace
}  // namespace levin
