#pragma once

namespace levin {

/// While it lives, LibTorch's CPU kernels that this thread calls start no other threads. Costs a few nanoseconds, and
/// does not touch other threads, as at::set_num_threads() would. Without OpenMP in LibTorch it does nothing.
class SingleThreadGuard {
 public:
  SingleThreadGuard();
  ~SingleThreadGuard();
  SingleThreadGuard(const SingleThreadGuard&) = delete;
  SingleThreadGuard& operator=(const SingleThreadGuard&) = delete;

 private:
  int num_threads_ = 0;  ///< 0: nothing to restore.
};

}  // namespace levin
