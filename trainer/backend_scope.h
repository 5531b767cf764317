#pragma once

#include "trainer/core/trainer_options.h"
#include "trainer/intra_op_threads.h"

namespace levin {

/// LibTorch's process-wide settings (deterministic algorithms, cuDNN's search for the fastest one, threads) as a run
/// wants them; what was there before is put back at the end.
class BackendScope {
 public:
  /// local_world_size: ranks on this host.
  BackendScope(const TrainerOptions& options, int64_t local_world_size);
  ~BackendScope();
  BackendScope(const BackendScope&) = delete;
  BackendScope& operator=(const BackendScope&) = delete;

  const IntraOpThreads& intra_op_threads() const { return threads_; }

 private:
  bool was_deterministic_;
  bool was_warn_only_;
  bool was_benchmark_;
  int had_threads_;
  IntraOpThreads threads_;
};

}  // namespace levin
