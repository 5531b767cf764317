#include "trainer/intra_op_threads.h"

#include <ATen/Parallel.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <sstream>

#include "tests/trainer/checkpoint/test_files.h"
#include "tests/trainer/tiny_model.h"
#include "trainer/core/error.h"
#include "trainer/trainer.h"

namespace levin {
namespace {

using testing::HasSubstr;

// 8 cores of two threads each; LibTorch's default is one thread a core.
ThreadSurroundings eight_cores(int64_t local_world_size = 1) {
  return {.current = 8, .usable_cores = 8, .usable_processors = 16, .local_world_size = local_world_size};
}

TEST(IntraOpThreadsTest, RanksShareTheCoresOfTheirHost) {
  EXPECT_EQ(choose_intra_op_threads(std::nullopt, eight_cores()).count, 8);
  const IntraOpThreads shared = choose_intra_op_threads(std::nullopt, eight_cores(3));
  EXPECT_EQ(shared.count, 2);
  EXPECT_EQ(shared.reason, "8 cores / 3 ranks of this host");
  EXPECT_EQ(choose_intra_op_threads(std::nullopt, eight_cores(100)).count, 1);
}

TEST(IntraOpThreadsTest, AnExplicitSettingWins) {
  ThreadSurroundings surroundings = eight_cores(4);
  surroundings.current = 5;
  EXPECT_EQ(choose_intra_op_threads(std::nullopt, surroundings).count, 5);
  EXPECT_THAT(choose_intra_op_threads(std::nullopt, surroundings).reason, HasSubstr("at::set_num_threads"));
  surroundings.current = 8;
  surroundings.is_set_by_environment = true;
  EXPECT_EQ(choose_intra_op_threads(std::nullopt, surroundings).count, 8);
  EXPECT_THAT(choose_intra_op_threads(std::nullopt, surroundings).reason, HasSubstr("OMP_NUM_THREADS"));
  EXPECT_EQ(choose_intra_op_threads(12, surroundings).count, 12);
}

TEST(IntraOpThreadsTest, AContainerMayHaveLessThanTheHost) {
  ThreadSurroundings surroundings = eight_cores(2);
  surroundings.quota = 4.0;
  EXPECT_EQ(choose_intra_op_threads(std::nullopt, surroundings).count, 2);
  EXPECT_EQ(choose_intra_op_threads(std::nullopt, surroundings).reason,
            "4 cores of the container / 2 ranks of this host");
  surroundings.quota = 0.3;
  EXPECT_EQ(choose_intra_op_threads(std::nullopt, surroundings).count, 1);
  surroundings.quota = 64.0;
  EXPECT_EQ(choose_intra_op_threads(std::nullopt, surroundings).count, 4);
}

TEST(IntraOpThreadsTest, ReadsTheQuotaOfAContainer) {
  EXPECT_EQ(parse_cpu_quota("150000 100000\n"), 1.5);
  EXPECT_EQ(parse_cpu_quota("max 100000\n"), std::nullopt);
  EXPECT_EQ(parse_cpu_quota(""), std::nullopt);
}

TEST(IntraOpThreadsTest, FindsThisProcess) {
  const ThreadSurroundings found = thread_surroundings(1);
  EXPECT_EQ(found.current, at::get_num_threads());
  EXPECT_GE(found.usable_cores, 1);
  EXPECT_GE(found.usable_processors, found.usable_cores);
}

class ThreadsInARun : public testing::Test {
 protected:
  void SetUp() override { at::set_num_threads(3); }
  void TearDown() override { at::set_num_threads(before_); }

  // Threads during the training.
  int64_t fit(std::optional<int64_t> option) {
    int64_t during = 0;
    TinyModel model([&](TinyModel& m, const Batch& batch, StepContext& /*ctx*/) {
      during = at::get_num_threads();
      return m.loss(batch);
    });
    TinyData data;
    Trainer(quiet({.max_epochs = 1, .intra_op_threads = option})).fit(model, data);
    return during;
  }

  const int before_ = at::get_num_threads();
};

TEST_F(ThreadsInARun, TheOptionHoldsDuringTheRunOnly) {
  EXPECT_EQ(fit(2), 2);
  EXPECT_EQ(at::get_num_threads(), 3);
}

TEST_F(ThreadsInARun, WhatTheUserHasSetStays) {
  EXPECT_EQ(fit(std::nullopt), 3);
  EXPECT_EQ(at::get_num_threads(), 3);
}

TEST_F(ThreadsInARun, IsPutBackAfterAnError) {
  TinyModel model([](TinyModel& /*m*/, const Batch& /*batch*/, StepContext& /*ctx*/) -> StepOutput {
    throw std::runtime_error("broken");
  });
  TinyData data;
  Trainer trainer(quiet({.max_epochs = 1, .intra_op_threads = 1}));
  EXPECT_ANY_THROW(trainer.fit(model, data));
  EXPECT_EQ(at::get_num_threads(), 3);
}

TEST_F(ThreadsInARun, OneThreadTakesOneProcessor) {
  double processor_seconds = 0.0;
  double seconds = 0.0;
  TinyModel model([&](TinyModel& m, const Batch& batch, StepContext& /*ctx*/) {
    const at::Tensor matrix = at::ones({512, 512});
    const std::clock_t processor_start = std::clock();  // of all threads
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < 50; ++i) matrix.matmul(matrix);
    processor_seconds += static_cast<double>(std::clock() - processor_start) / CLOCKS_PER_SEC;
    seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return m.loss(batch);
  });
  TinyData data;
  Trainer(quiet({.max_epochs = 1, .intra_op_threads = 1})).fit(model, data);
  EXPECT_LE(processor_seconds / seconds, 1.2);
}

TEST_F(ThreadsInARun, TheChoiceIsInTheRecord) {
  const TestFolder folder;
  TinyModel model;
  TinyData data;
  TrainerOptions options = quiet({.max_epochs = 1, .intra_op_threads = 2, .default_root_dir = folder.path()});
  options.logger = true;
  const FitResult result = Trainer(options).fit(model, data);
  std::ifstream file(result.run_dir / "run.json");
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_THAT(text.str(), HasSubstr("2: trainer.intra_op_threads"));
}

TEST_F(ThreadsInARun, RefusesLessThanOne) {
  EXPECT_THROW(Trainer(quiet({.max_epochs = 1, .intra_op_threads = 0})), ConfigError);
}

}  // namespace
}  // namespace levin
