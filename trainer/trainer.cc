#include "trainer/trainer.h"

#include <fmt/format.h>

#include <unordered_set>

#include "trainer/assemble.h"
#include "trainer/core/error.h"
#include "trainer/core/lightning_data_module.h"
#include "trainer/core/lightning_module.h"
#include "trainer/core/named_parameters.h"
#include "trainer/core/random.h"
#include "trainer/eval_loop.h"
#include "trainer/fit_loop.h"
#include "trainer/run.h"
#include "trainer/run_checkpoint.h"

namespace levin {
namespace {

/// Opens the data for a stage, works with it, and tears it down, also after an error.
template <class Work>
auto with_data(LightningDataModule& data, Stage stage, Work work) {
  data.prepare_data();
  data.setup(stage);
  const auto result = [&] {
    try {
      return work();
    } catch (...) {
      try {
        data.teardown(stage);
      } catch (const std::exception&) {
        // The error that ended the work is the one to report.
      }
      throw;
    }
  }();
  data.teardown(stage);
  return result;
}

/// For standalone evaluation: nobody to stop, nothing to save.
class EvalControl final : public TrainerControl {
 public:
  void request_stop(const std::string& /*reason*/) override {}
  void save_checkpoint(const std::filesystem::path& path, const SaveOptions& /*options*/) override {
    refuse(fmt::format("to save {}", path.string()));
  }
  void go_back_to(const std::filesystem::path& path) override {
    refuse(fmt::format("to go back to {}", path.string()));
  }
  std::optional<std::filesystem::path> last_checkpoint() override { return std::nullopt; }
  void skip_optimizer_step() override { refuse("to skip an optimizer step"); }
  void set_accumulate_grad_batches(int64_t /*num_batches*/) override { refuse("to accumulate gradients"); }
  void log(std::string_view name, double /*value*/, const LogOptions& /*options*/) override {
    refuse(fmt::format("to log \"{}\"", name));
  }

 private:
  [[noreturn]] static void refuse(const std::string& what) {
    throw ConfigError(fmt::format("[Trainer] a callback asked {}, which is possible during a fit only.", what));
  }
};

DataLoader& require(const std::unique_ptr<DataLoader>& loader, const char* method, Stage stage) {
  if (loader) return *loader;
  throw ConfigError(
      fmt::format("[Trainer] {} needs data: LightningDataModule::{} returned no loader.", stage_name(stage), method));
}

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

Metrics run_pass(EvalLoop& loop) {
  try {
    return loop.run_pass();
  } catch (const std::exception& error) {
    loop.on_exception(error);
    throw;
  }
}

/// Opens the run folder and makes one pass; the folder stays if the pass got through.
Metrics evaluate(Run& run, LightningModule& module, DataLoader& loader, Stage stage, std::vector<Batch>* predictions) {
  EvalControl control;
  try {
    run.open_folder();
    EvalLoop loop(run, control, module, loader, stage);
    const Metrics metrics = run_pass(loop);
    run.flush_loggers();
    if (predictions != nullptr) *predictions = loop.take_predictions();
    if (run.folder) run.folder->keep();
    return metrics;
  } catch (...) {
    run.discard_unkept_folder();
    throw;
  }
}

}  // namespace

Trainer::Trainer(TrainerOptions options, TrainerParts parts) {
  parts = assemble(options, std::move(parts));
  CallbackList callbacks(parts.callbacks);
  run_ = std::make_unique<Run>(Run{.options = options, .parts = std::move(parts), .callbacks = std::move(callbacks)});
  run_->seed = options.seed.value_or(random_seed());
  if (options.seed) seed_everything(run_->seed);
}

Trainer::~Trainer() = default;

void Trainer::place(LightningModule& module, const std::filesystem::path& checkpoint) {
  run_->parts.precision->convert_module(module);
  run_->parts.strategy->setup(module);
  if (!checkpoint.empty()) load_weights(checkpoint, *run_->parts.strategy, module);
}

void Trainer::attach(DataLoader& loader) const {
  Communicator& communicator = run_->parts.strategy->communicator();
  loader.attach({.seed = run_->seed, .rank = communicator.rank(), .world_size = communicator.world_size()});
}

FitResult Trainer::fit(LightningModule& module, LightningDataModule& data) {
  return with_data(data, Stage::kTrain, [&] {
    const auto train_loader = data.train_dataloader();
    const auto val_loader = data.val_dataloader();
    return fit(module, require(train_loader, "train_dataloader()", Stage::kTrain), val_loader.get());
  });
}

FitResult Trainer::fit(LightningModule& module, DataLoader& train_loader, DataLoader* val_loader) {
  place(module, {});
  Optimizers optimizers =
      run_->parts.optimizer ? run_->parts.optimizer(named_parameters(module)) : module.configure_optimizers();
  drop_repeated_parameters(optimizers);
  attach(train_loader);
  if (val_loader != nullptr) attach(*val_loader);
  try {
    run_->open_folder();
    FitLoop loop(*run_, module, optimizers, train_loader, val_loader);
    FitResult result;
    result.status = loop.run();
    result.num_epochs = run_->state.epoch;
    result.num_steps = run_->state.global_step;
    result.metrics = run_->metrics;
    run_->discard_unkept_folder();  // a fit without a step has nothing to keep
    result.run_dir = run_dir();
    return result;
  } catch (...) {
    run_->discard_unkept_folder();
    throw;
  }
}

Metrics Trainer::validate(LightningModule& module, LightningDataModule& data, const std::filesystem::path& checkpoint) {
  return with_data(data, Stage::kValidate, [&] {
    const auto loader = data.val_dataloader();
    return validate(module, require(loader, "val_dataloader()", Stage::kValidate), checkpoint);
  });
}

Metrics Trainer::validate(LightningModule& module, DataLoader& loader, const std::filesystem::path& checkpoint) {
  place(module, checkpoint);
  attach(loader);
  return evaluate(*run_, module, loader, Stage::kValidate, nullptr);
}

Metrics Trainer::test(LightningModule& module, LightningDataModule& data, const std::filesystem::path& checkpoint) {
  return with_data(data, Stage::kTest, [&] {
    const auto loader = data.test_dataloader();
    return test(module, require(loader, "test_dataloader()", Stage::kTest), checkpoint);
  });
}

Metrics Trainer::test(LightningModule& module, DataLoader& loader, const std::filesystem::path& checkpoint) {
  place(module, checkpoint);
  attach(loader);
  return evaluate(*run_, module, loader, Stage::kTest, nullptr);
}

std::vector<Batch> Trainer::predict(LightningModule& module, LightningDataModule& data,
                                    const std::filesystem::path& checkpoint) {
  return with_data(data, Stage::kPredict, [&] {
    const auto loader = data.predict_dataloader();
    return predict(module, require(loader, "predict_dataloader()", Stage::kPredict), checkpoint);
  });
}

std::vector<Batch> Trainer::predict(LightningModule& module, DataLoader& loader,
                                    const std::filesystem::path& checkpoint) {
  place(module, checkpoint);
  attach(loader);
  std::vector<Batch> predictions;
  evaluate(*run_, module, loader, Stage::kPredict, &predictions);
  return predictions;
}

const TrainerState& Trainer::state() const { return run_->state; }

const Metrics& Trainer::metrics() const { return run_->metrics; }

std::filesystem::path Trainer::run_dir() const { return run_->folder_path(); }

}  // namespace levin
