#include "trainer/core/single_thread_guard.h"

#include <ATen/Parallel.h>

// From the OpenMP runtime that LibTorch has loaded. Linking one of our own would be a second one in the process.
extern "C" void omp_set_num_threads(int num_threads) __attribute__((weak));

namespace levin {

SingleThreadGuard::SingleThreadGuard() {
  if (omp_set_num_threads == nullptr) return;
  num_threads_ = at::get_num_threads();  // LibTorch sets the number of a thread when it first asks for it
  omp_set_num_threads(1);
}

SingleThreadGuard::~SingleThreadGuard() {
  if (num_threads_ > 0) omp_set_num_threads(num_threads_);
}

}  // namespace levin
