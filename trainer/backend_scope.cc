#include "trainer/backend_scope.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>

#include <cstdlib>

namespace levin {

BackendScope::BackendScope(const TrainerOptions& options, int64_t local_world_size)
    : was_deterministic_(at::globalContext().deterministicAlgorithms()),
      was_warn_only_(at::globalContext().deterministicAlgorithmsWarnOnly()),
      was_benchmark_(at::globalContext().benchmarkCuDNN()),
      had_threads_(at::get_num_threads()),
      threads_(choose_intra_op_threads(options.intra_op_threads, thread_surroundings(local_world_size))) {
  at::Context& context = at::globalContext();
  if (options.deterministic || options.deterministic_warn_only) {
    context.setDeterministicAlgorithms(true, options.deterministic_warn_only);
    // cuBLAS is deterministic only with a workspace of a fixed size, which it reads before its first use.
    setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", /*overwrite=*/0);
  }
  if (options.benchmark) context.setBenchmarkCuDNN(!options.deterministic);
  if (threads_.count != had_threads_) at::set_num_threads(static_cast<int>(threads_.count));
}

BackendScope::~BackendScope() {
  at::globalContext().setDeterministicAlgorithms(was_deterministic_, was_warn_only_);
  at::globalContext().setBenchmarkCuDNN(was_benchmark_);
  if (threads_.count != had_threads_) at::set_num_threads(had_threads_);
}

}  // namespace levin
