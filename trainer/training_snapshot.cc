#include "trainer/training_snapshot.h"

#include <c10/util/Exception.h>

#include "trainer/core/lightning_data_module.h"
#include "trainer/out_of_memory.h"

namespace levin {
namespace {

StateDict copy_to_host(const StateDict& state) {
  StateDict copy;
  for (const auto& [name, value] : state) {
    if (const auto* tensor = std::get_if<at::Tensor>(&value)) {
      copy.set(name, tensor->to(at::kCPU, tensor->scalar_type(), /*non_blocking=*/false, /*copy=*/true));
    } else {
      copy.set(name, value);
    }
  }
  return copy;
}

}  // namespace

TrainingSnapshot::TrainingSnapshot(Run& run, LightningModule& module)
    : run_(run),
      module_(module),
      model_(copy_to_host(run.parts.strategy->model_state(module))),
      precision_(copy_to_host(run.parts.precision->state())) {
  StateDict extra;
  module.on_save_checkpoint(extra);
  module_extra_ = copy_to_host(extra);
  if (run.data != nullptr) data_ = copy_to_host(run.data->state());
  for (const auto& submodule : module.modules(/*include_self=*/false)) {
    train_flags_.emplace_back(submodule, submodule->is_training());
  }
}

TrainingSnapshot::~TrainingSnapshot() {
  try {
    put_back();
  } catch (const std::exception& error) {
    TORCH_WARN("A trial training could not be undone: ", error.what());
  }
}

void TrainingSnapshot::put_back() {
  module_.zero_grad(/*set_to_none=*/true);
  run_.parts.strategy->load_model_state(module_, model_);
  if (!module_extra_.empty()) module_.on_load_checkpoint(module_extra_);
  if (run_.data != nullptr && !data_.empty()) run_.data->load_state(data_);
  if (!precision_.empty()) run_.parts.precision->load_state(precision_);
  for (const auto& [submodule, was_training] : train_flags_) submodule->train(was_training);
  release_cached_memory(run_.parts.strategy->device());
}

}  // namespace levin
