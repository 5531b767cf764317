#include "trainer/fit_parts.h"

#include <unordered_set>

#include "trainer/core/named_parameters.h"
#include "trainer/idle_context.h"

namespace levin {
namespace {

/// A tied tensor stands in parameters() once for each name, and must not be stepped once for each.
void drop_repeated_parameters(Optimizers& optimizers) {
  for (size_t i = 0; i < optimizers.size(); ++i) {
    std::unordered_set<const c10::TensorImpl*> seen;
    for (auto& group : optimizers[i].param_groups()) {
      std::erase_if(group.params(),
                    [&](const at::Tensor& tensor) { return !seen.insert(tensor.unsafeGetTensorImpl()).second; });
    }
  }
}

void add_schedules(const Run& run, Optimizers& optimizers) {
  if (run.parts.scheduler == nullptr) return;
  for (size_t i = 0; i < optimizers.size(); ++i) {
    ScheduleConfig config = run.parts.scheduler();
    check_schedule(config);
    optimizers.schedule(i) = std::move(config);
  }
}

}  // namespace

void attach_loader(const Run& run, DataLoader& loader, Stage stage) {
  Communicator& communicator = run.parts.strategy->communicator();
  loader.attach({.seed = run.seed,
                 .rank = communicator.rank(),
                 .world_size = communicator.world_size(),
                 .is_in_order = !run.options.overfit_batches.is_zero(),
                 .has_equal_ranks = stage == Stage::kTrain,
                 .device = run.parts.strategy->device()});
}

Optimizers make_optimizers(Run& run, LightningModule& module) {
  Optimizers optimizers =
      run.parts.optimizer ? run.parts.optimizer(named_parameters(module)) : module.configure_optimizers();
  drop_repeated_parameters(optimizers);
  add_schedules(run, optimizers);
  const IdleContext context(run, module, Stage::kTrain, &optimizers);
  run.callbacks.call(&Callback::on_after_configure_optimizers, context.get());
  return optimizers;
}

FitData make_data(Run& run, const FitSource& source) {
  if (run.data != nullptr) {
    return {*run.data, [&run](DataLoader& loader, Stage stage) { attach_loader(run, loader, stage); }};
  }
  attach_loader(run, *source.train, Stage::kTrain);
  if (source.val != nullptr) attach_loader(run, *source.val, Stage::kValidate);
  return {*source.train, source.val};
}

}  // namespace levin
