#include "trainer/core/single_thread_guard.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

namespace levin {
namespace {

TEST(SingleThreadGuardTest, KernelsOfThisThreadGetOneThreadWhileItLives) {
  at::set_num_threads(3);
  {
    const SingleThreadGuard guard;
    EXPECT_EQ(at::get_num_threads(), 1);
    int num_ranges = 0;
    at::parallel_for(0, 1000, 0, [&](int64_t /*begin*/, int64_t /*end*/) { ++num_ranges; });
    EXPECT_EQ(num_ranges, 1);
  }
  EXPECT_EQ(at::get_num_threads(), 3);
}

}  // namespace
}  // namespace levin
