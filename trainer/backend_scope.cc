#include "trainer/backend_scope.h"

#include <ATen/Context.h>

#include <cstdlib>

namespace levin {

BackendScope::BackendScope(const TrainerOptions& options)
    : was_deterministic_(at::globalContext().deterministicAlgorithms()),
      was_warn_only_(at::globalContext().deterministicAlgorithmsWarnOnly()),
      was_benchmark_(at::globalContext().benchmarkCuDNN()) {
  at::Context& context = at::globalContext();
  if (options.deterministic || options.deterministic_warn_only) {
    context.setDeterministicAlgorithms(true, options.deterministic_warn_only);
    // cuBLAS is deterministic only with a workspace of a fixed size, which it reads before its first use.
    setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", /*overwrite=*/0);
  }
  if (options.benchmark) context.setBenchmarkCuDNN(!options.deterministic);
}

BackendScope::~BackendScope() {
  at::globalContext().setDeterministicAlgorithms(was_deterministic_, was_warn_only_);
  at::globalContext().setBenchmarkCuDNN(was_benchmark_);
}

}  // namespace levin
