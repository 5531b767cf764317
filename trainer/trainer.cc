#include "trainer/trainer.h"

#include "trainer/assemble.h"
#include "trainer/core/random.h"
#include "trainer/evaluate.h"
#include "trainer/fit.h"
#include "trainer/run.h"
#include "trainer/tune.h"

namespace levin {

Trainer::Trainer(TrainerOptions options, TrainerParts parts) {
  check_parts(options, parts);
  options = resolve_shorthands(std::move(options));
  parts = assemble(options, std::move(parts));
  CallbackList callbacks(parts.callbacks);
  run_ = std::make_unique<Run>(Run{.options = options, .parts = std::move(parts), .callbacks = std::move(callbacks)});
  run_->seed = options.seed.value_or(random_seed());
  if (options.seed) seed_everything(run_->seed);
}

Trainer::~Trainer() = default;

FitResult Trainer::fit(LightningModule& module, LightningDataModule& data, const std::string& resume) {
  run_->data = &data;
  return run_fit(*run_, module, {}, resume);
}

FitResult Trainer::fit(LightningModule& module, DataLoader& train_loader, DataLoader* val_loader,
                       const std::string& resume) {
  run_->data = nullptr;
  return run_fit(*run_, module, {&train_loader, val_loader}, resume);
}

TunerResult Trainer::tune(LightningModule& module, LightningDataModule& data, const TunerOptions& options) {
  run_->data = &data;
  return run_tune(*run_, module, {}, options);
}

TunerResult Trainer::tune(LightningModule& module, DataLoader& train_loader, const TunerOptions& options) {
  run_->data = nullptr;
  return run_tune(*run_, module, {.train = &train_loader}, options);
}

Metrics Trainer::validate(LightningModule& module, LightningDataModule& data, const std::filesystem::path& checkpoint) {
  run_->data = &data;
  return run_evaluation(*run_, module, nullptr, Stage::kValidate, checkpoint).metrics;
}

Metrics Trainer::validate(LightningModule& module, DataLoader& loader, const std::filesystem::path& checkpoint) {
  run_->data = nullptr;
  return run_evaluation(*run_, module, &loader, Stage::kValidate, checkpoint).metrics;
}

Metrics Trainer::test(LightningModule& module, LightningDataModule& data, const std::filesystem::path& checkpoint) {
  run_->data = &data;
  return run_evaluation(*run_, module, nullptr, Stage::kTest, checkpoint).metrics;
}

Metrics Trainer::test(LightningModule& module, DataLoader& loader, const std::filesystem::path& checkpoint) {
  run_->data = nullptr;
  return run_evaluation(*run_, module, &loader, Stage::kTest, checkpoint).metrics;
}

std::vector<Batch> Trainer::predict(LightningModule& module, LightningDataModule& data,
                                    const std::filesystem::path& checkpoint, bool return_predictions) {
  run_->data = &data;
  return run_evaluation(*run_, module, nullptr, Stage::kPredict, checkpoint, return_predictions).predictions;
}

std::vector<Batch> Trainer::predict(LightningModule& module, DataLoader& loader,
                                    const std::filesystem::path& checkpoint, bool return_predictions) {
  run_->data = nullptr;
  return run_evaluation(*run_, module, &loader, Stage::kPredict, checkpoint, return_predictions).predictions;
}

const TrainerState& Trainer::state() const { return run_->state; }

const Metrics& Trainer::metrics() const { return run_->metrics; }

std::filesystem::path Trainer::run_dir() const { return run_->folder_path(); }

}  // namespace levin
