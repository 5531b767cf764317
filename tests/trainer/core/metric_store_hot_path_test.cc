// What logging costs in memory, counted by the operator new and delete of this program.

#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>

#include "trainer/core/metric_store.h"

namespace {

std::atomic<int64_t> num_allocations{0};
std::atomic<int64_t> num_live{0};

}  // namespace

void* operator new(size_t size) {
  void* memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  ++num_allocations;
  ++num_live;
  return memory;
}
void operator delete(void* memory) noexcept {
  if (memory != nullptr) --num_live;
  std::free(memory);
}
void operator delete(void* memory, size_t /*size*/) noexcept { operator delete(memory); }

namespace levin {
namespace {

const LogOptions kBoth{.on_step = true, .on_epoch = true};
constexpr const char* kNames[] = {"a_name_too_long_for_a_small_string", "train_accuracy_of_the_epoch", "lr"};

template <class Value>
void log_three(MetricStore& store, const Value& value) {
  for (const char* name : kNames) store.log(name, value, kBoth, 2.0);
  store.end_step();
}

TEST(MetricStoreHotPathTest, AllocatesNothingAfterTheFirstStep) {
  const at::Tensor tensor = at::full({}, 0.5);
  MetricStore store(Stage::kTrain);
  log_three(store, tensor);
  const int64_t before = num_allocations;
  for (int step = 0; step < 1000; ++step) log_three(store, tensor);
  for (int step = 0; step < 1000; ++step) log_three(store, 0.5);
  EXPECT_EQ(num_allocations, before);
}

TEST(MetricStoreHotPathTest, TheCountersCount) {
  const int64_t live = num_live;
  const int64_t allocations = num_allocations;
  const at::Tensor tensor = at::ones({});
  EXPECT_GT(num_live, live);
  EXPECT_GT(num_allocations, allocations);
}

// B27. Meta tensors go the way of a device's, and throw if they are read, as a synchronisation would do.
TEST(MetricStoreHotPathTest, LiveMemoryOfADeviceIsConstant) {
  const at::Tensor weight = at::ones({3}, at::TensorOptions(at::kMeta)).requires_grad_();
  MetricStore store(Stage::kTrain);
  int64_t live_at_100 = 0;
  for (int step = 0; step < 10'000; ++step) {
    if (step == 100) live_at_100 = num_live;
    std::weak_ptr<torch::autograd::Node> graph;
    {
      const at::Tensor loss = weight.mul(2).sum();
      ASSERT_TRUE(loss.requires_grad());
      graph = loss.grad_fn();
      log_three(store, loss);
    }
    ASSERT_TRUE(graph.expired());
  }
  EXPECT_EQ(num_live, live_at_100);
}

TEST(MetricStoreHotPathTest, LiveMemoryOfTheHostIsConstant) {
  const at::Tensor weight = at::ones({3}).requires_grad_();
  MetricStore store(Stage::kTrain);
  int64_t live_at_100 = 0;
  for (int step = 0; step < 10'000; ++step) {
    if (step == 100) live_at_100 = num_live;
    log_three(store, weight.mul(2).sum());
  }
  EXPECT_EQ(num_live, live_at_100);
  EXPECT_EQ(store.step_metrics().find("lr_step"), 6.0);
}

}  // namespace
}  // namespace levin
