#include "trainer/memory_limit.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>
#include <gtest/gtest.h>

#include <new>
#include <stdexcept>
#include <thread>
#include <vector>

#include "trainer/out_of_memory.h"

namespace levin {
namespace {

constexpr int64_t kMiB = 1024 * 1024;

at::Tensor bytes(int64_t size) { return at::empty({size}, at::kByte); }

TEST(MemoryLimitTest, CountsWhatTensorsHold) {
  MemoryLimit limit(4 * kMiB);
  const MemoryLimit::Scope scope(&limit);
  at::Tensor first = bytes(kMiB);
  EXPECT_EQ(limit.used_bytes(), kMiB);
  {
    const at::Tensor second = bytes(2 * kMiB);
    EXPECT_EQ(limit.used_bytes(), 3 * kMiB);
  }
  EXPECT_EQ(limit.used_bytes(), kMiB);
  first = at::Tensor();
  EXPECT_EQ(limit.used_bytes(), 0);
  EXPECT_EQ(limit.peak_bytes(), 3 * kMiB);
}

TEST(MemoryLimitTest, AnAllocationBeyondItFailsAndLeavesTheRest) {
  MemoryLimit limit(4 * kMiB);
  const MemoryLimit::Scope scope(&limit);
  const at::Tensor kept = at::zeros({3 * kMiB}, at::kByte);
  EXPECT_THROW(bytes(kMiB + 1), c10::OutOfMemoryError);
  EXPECT_EQ(limit.used_bytes(), 3 * kMiB);
  EXPECT_NO_THROW(bytes(kMiB));
  EXPECT_EQ(kept[kMiB].item<int64_t>(), 0);
}

TEST(MemoryLimitTest, TensorsMayOutliveScopeAndLimit) {
  at::Tensor tensor;
  c10::Allocator* const before = c10::GetCPUAllocator();
  {
    MemoryLimit limit(4 * kMiB);
    const MemoryLimit::Scope scope(&limit);
    EXPECT_NE(c10::GetCPUAllocator(), before);
    tensor = at::zeros({1000});
  }
  EXPECT_EQ(c10::GetCPUAllocator(), before);
  EXPECT_EQ(tensor.add_(1).sum().item<double>(), 1000.0);
  tensor.resize_({100000});
  EXPECT_EQ(tensor.numel(), 100000);
}

TEST(MemoryLimitTest, BlocksAreAlignedAsLibTorchAlignsThem) {
  MemoryLimit limit(4 * kMiB);
  const MemoryLimit::Scope scope(&limit);
  for (const int64_t size : {1, 63, 64, 1000}) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(bytes(size).data_ptr()) % 64, 0u);
  }
  EXPECT_EQ(bytes(0).numel(), 0);
}

TEST(MemoryLimitTest, ThreadsShareIt) {
  MemoryLimit limit(64 * kMiB);
  const MemoryLimit::Scope scope(&limit);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([] {
      for (int k = 0; k < 200; ++k) bytes(1000 + k);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(limit.used_bytes(), 0);
  EXPECT_GT(limit.peak_bytes(), 0);
}

TEST(MemoryLimitTest, TheInnermostScopeCounts) {
  MemoryLimit outer(4 * kMiB);
  MemoryLimit inner(kMiB);
  const MemoryLimit::Scope scope(&outer);
  at::Tensor in_inner;
  {
    const MemoryLimit::Scope within(&inner);
    in_inner = bytes(1000);
    EXPECT_THROW(bytes(2 * kMiB), c10::OutOfMemoryError);
  }
  const at::Tensor in_outer = bytes(2 * kMiB);
  EXPECT_EQ(inner.used_bytes(), 1000);
  EXPECT_EQ(outer.used_bytes(), 2 * kMiB);
}

TEST(MemoryLimitTest, WithoutALimitNothingChanges) {
  c10::Allocator* const before = c10::GetCPUAllocator();
  const MemoryLimit::Scope scope(nullptr);
  EXPECT_EQ(c10::GetCPUAllocator(), before);
}

TEST(OutOfMemoryTest, IsToldFromOtherErrors) {
  EXPECT_TRUE(is_out_of_memory(std::bad_alloc()));
  EXPECT_TRUE(is_out_of_memory(std::runtime_error("[enforce fail] DefaultCPUAllocator: can't allocate memory: 5")));
  EXPECT_TRUE(is_out_of_memory(std::runtime_error("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling")));
  EXPECT_FALSE(is_out_of_memory(std::runtime_error("mat1 and mat2 shapes cannot be multiplied")));
  try {
    bytes(int64_t{1} << 60);
    FAIL();
  } catch (const std::exception& error) {
    EXPECT_TRUE(is_out_of_memory(error)) << error.what();
  }
}

}  // namespace
}  // namespace levin
