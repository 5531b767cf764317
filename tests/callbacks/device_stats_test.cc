#include "callbacks/device_stats.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "tests/callbacks/fake_run.h"
#include "tests/callbacks/tiny_module.h"

namespace levin {
namespace {

using testing::ElementsAre;

// A module on a device of which no tensor needs memory.
struct MetaModule : LightningModule {
  MetaModule() { register_parameter("weight", at::zeros({2}, at::kMeta)); }
  StepOutput training_step(const Batch& /*batch*/, StepContext& /*ctx*/) override { return StepOutput::skip(); }
};

class DeviceStatsTest : public testing::Test {
 protected:
  DeviceStats make(const DeviceStats::Options& options = {}) {
    return DeviceStats(options, {.read_text =
                                     [this](const std::string& path) {
                                       ++num_reads;
                                       return files[path];
                                     },
                                 .now_s = [this] { return now; },
                                 .cpu_seconds = [this] { return cpu_seconds; },
                                 .memory_of = [this](at::Device) { return memory; }});
  }
  void start(DeviceStats& stats) { stats.on_train_start(run.context(Stage::kTrain)); }
  void end_batch(DeviceStats& stats) {
    stats.on_train_batch_end(run.context(Stage::kTrain), StepOutput::skip(), Batch());
  }
  std::vector<std::string> names() const {
    std::vector<std::string> result;
    for (const auto& [name, value] : run.control.logged) result.push_back(name);
    return result;
  }

  std::map<std::string, std::string> files = {{"/proc/self/statm", "10 5 1 1 0 1 0\n"},
                                              {"/proc/meminfo", "MemAvailable: 8 kB\n"},
                                              {"/proc/self/status", "Threads:\t3\n"}};
  std::optional<DeviceMemory> memory = DeviceMemory{.allocated_bytes = 1,
                                                    .reserved_bytes = 2,
                                                    .peak_allocated_bytes = 3,
                                                    .peak_reserved_bytes = 4,
                                                    .num_alloc_retries = 5,
                                                    .num_ooms = 6};
  double now = 100.0;
  double cpu_seconds = 7.0;
  int64_t num_reads = 0;
  FakeRun run;
};

TEST_F(DeviceStatsTest, OnTheCpuTheHostIsLogged) {
  TinyModule module;
  run.module = &module;
  DeviceStats stats = make();
  start(stats);
  now += 2.0;
  cpu_seconds += 3.0;
  end_batch(stats);
  EXPECT_THAT(names(), ElementsAre("host/resident_bytes", "host/cpu_percent", "host/available_bytes", "host/threads"));
  EXPECT_EQ(run.control.logged.find("host/cpu_percent"), 150.0);
  EXPECT_EQ(run.control.logged.find("host/available_bytes"), 8192.0);
  EXPECT_EQ(run.control.logged.find("host/threads"), 3.0);
}

TEST_F(DeviceStatsTest, ProcessorTimeIsThatSinceTheLastRow) {
  DeviceStats stats = make();
  start(stats);
  now += 2.0;
  cpu_seconds += 3.0;
  end_batch(stats);
  run.is_logging_step = false;
  now += 5.0;
  end_batch(stats);
  run.is_logging_step = true;
  now += 5.0;
  cpu_seconds += 1.0;
  end_batch(stats);
  EXPECT_EQ(run.control.logged.find("host/cpu_percent"), 10.0);
}

TEST_F(DeviceStatsTest, OnADeviceItsMemoryIsLogged) {
  MetaModule module;
  run.module = &module;
  DeviceStats stats = make();
  start(stats);
  end_batch(stats);
  EXPECT_THAT(names(), ElementsAre("device/allocated_bytes", "device/reserved_bytes", "device/peak_allocated_bytes",
                                   "device/peak_reserved_bytes", "device/alloc_retries", "device/ooms"));
  double expected = 1.0;
  for (const auto& [name, value] : run.control.logged) EXPECT_EQ(value, expected++) << name;
  EXPECT_EQ(num_reads, 0);
}

TEST_F(DeviceStatsTest, CpuAddsTheHostToADevice) {
  MetaModule module;
  run.module = &module;
  DeviceStats stats = make({.cpu = true});
  start(stats);
  now += 1.0;
  end_batch(stats);
  EXPECT_EQ(names().size(), 10u);
  EXPECT_EQ(run.control.logged.find("host/cpu_percent"), 0.0);
}

TEST_F(DeviceStatsTest, WhatIsNotKnownIsLeftOut) {
  MetaModule module;
  run.module = &module;
  memory.reset();
  files = {{"/proc/self/status", "Threads:\t3\n"}, {"/proc/meminfo", "what?"}};
  DeviceStats stats = make({.cpu = true});
  start(stats);
  end_batch(stats);  // no time has passed
  EXPECT_THAT(names(), ElementsAre("host/threads"));
}

TEST_F(DeviceStatsTest, NothingIsReadBetweenLoggingSteps) {
  DeviceStats stats = make();
  start(stats);
  run.is_logging_step = false;
  end_batch(stats);
  EXPECT_TRUE(run.control.logged.empty());
  EXPECT_EQ(num_reads, 0);
}

// The other rank has 9000 bytes resident, 100 available, and does not know its threads.
class OtherRank final : public Communicator {
 public:
  int64_t rank() const override { return 0; }
  int64_t world_size() const override { return 2; }
  void all_reduce(at::Tensor& tensor, ReduceOp op) override {
    ASSERT_EQ(op, ReduceOp::kMax);
    ASSERT_EQ(tensor.numel(), 10);
    double* values = tensor.mutable_data_ptr<double>();
    values[6] = std::max(values[6], 1e9);
    values[8] = std::max(values[8], -100.0);
    ++num_calls;
  }
  void broadcast(at::Tensor& /*tensor*/, int64_t /*source*/) override { FAIL(); }
  void barrier() override { FAIL(); }

  int64_t num_calls = 0;
};

TEST_F(DeviceStatsTest, OfSeveralRanksTheOneThatIsWorstOffCounts) {
  OtherRank ranks;
  run.communicator = &ranks;
  DeviceStats stats = make();
  start(stats);
  end_batch(stats);
  EXPECT_EQ(run.control.logged.find("host/resident_bytes"), 1e9);
  EXPECT_EQ(run.control.logged.find("host/available_bytes"), 100.0);
  EXPECT_EQ(run.control.logged.find("host/threads"), 3.0);
  EXPECT_EQ(ranks.num_calls, 1);
}

TEST(DeviceMemoryTest, CpuAndDevicesWithoutAnAllocatorHaveNone) {
  EXPECT_FALSE(device_memory(at::kCPU));
  EXPECT_FALSE(device_memory(at::kMeta));
  EXPECT_FALSE(device_memory(at::Device(at::kXPU, 0)));  // not in this build
}

}  // namespace
}  // namespace levin
