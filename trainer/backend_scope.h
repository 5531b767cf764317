#pragma once

#include "trainer/core/trainer_options.h"

namespace levin {

/// LibTorch's process-wide switches (deterministic algorithms, cuDNN's search for the fastest one) as a run wants them;
/// what was there before is put back at the end.
class BackendScope {
 public:
  explicit BackendScope(const TrainerOptions& options);
  ~BackendScope();
  BackendScope(const BackendScope&) = delete;
  BackendScope& operator=(const BackendScope&) = delete;

 private:
  bool was_deterministic_;
  bool was_warn_only_;
  bool was_benchmark_;
};

}  // namespace levin
