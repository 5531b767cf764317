#include "trainer/evaluate.h"

#include <fmt/format.h>

#include "trainer/backend_scope.h"
#include "trainer/core/error.h"
#include "trainer/eval_loop.h"
#include "trainer/fit_checkpoint.h"
#include "trainer/fit_parts.h"
#include "trainer/refusing_control.h"
#include "trainer/stage_scope.h"

namespace levin {
namespace {

std::unique_ptr<DataLoader> make_loader(LightningDataModule& data, Stage stage) {
  std::unique_ptr<DataLoader> loader;
  const char* method = "val_dataloader()";
  if (stage == Stage::kTest) {
    method = "test_dataloader()";
    loader = data.test_dataloader();
  } else if (stage == Stage::kPredict) {
    method = "predict_dataloader()";
    loader = data.predict_dataloader();
  } else {
    loader = data.val_dataloader();
  }
  if (loader) return loader;
  throw ConfigError(
      fmt::format("[Trainer] {} needs data: LightningDataModule::{} returned no loader.", stage_name(stage), method));
}

void load_weights(const std::filesystem::path& path, Strategy& strategy, LightningModule& module) {
  const Checkpoint checkpoint = load_checkpoint(path);
  try {
    load_model(checkpoint, strategy, module);
  } catch (const CheckpointError& error) {
    throw CheckpointError(fmt::format("{}: {}", path.string(), error.what()));
  }
}

/// Stops a loader at the end of the scope, also after an error.
class StopLoader {
 public:
  explicit StopLoader(DataLoader& loader) : loader_(loader) {}
  ~StopLoader() { loader_.stop(); }
  StopLoader(const StopLoader&) = delete;
  StopLoader& operator=(const StopLoader&) = delete;

 private:
  DataLoader& loader_;
};

Evaluation evaluate(Run& run, LightningModule& module, DataLoader& loader, Stage stage, bool keeps_predictions) {
  RefusingControl control;
  EvalLoop loop(run, control, module, loader, stage, {.keeps_predictions = keeps_predictions});
  try {
    Evaluation result;
    result.metrics = loop.run_pass();
    run.flush_loggers();
    result.predictions = loop.take_predictions();
    if (run.folder) run.folder->keep();
    return result;
  } catch (const std::exception& error) {
    loop.on_exception(error);
    throw;
  }
}

}  // namespace

Evaluation run_evaluation(Run& run, LightningModule& module, DataLoader* loader, Stage stage,
                          const std::filesystem::path& checkpoint, bool keeps_predictions) {
  const BackendScope backend(run.options, run.parts.strategy->communicator().local_world_size());
  run.intra_op_threads = backend.intra_op_threads();
  try {
    return in_stage(run, module, stage, [&] {
      run.parts.precision->convert_module(module);
      run.parts.strategy->setup(module);
      if (!checkpoint.empty()) load_weights(checkpoint, *run.parts.strategy, module);
      const std::unique_ptr<DataLoader> own = loader == nullptr ? make_loader(*run.data, stage) : nullptr;
      DataLoader& used = own ? *own : *loader;
      attach_loader(run, used, stage);
      const StopLoader stop(used);
      run.open_folder();
      return evaluate(run, module, used, stage, keeps_predictions);
    });
  } catch (...) {
    run.discard_unkept_folder();
    throw;
  }
}

}  // namespace levin
