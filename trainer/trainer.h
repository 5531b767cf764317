#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "trainer/core/batch.h"
#include "trainer/core/data_loader.h"
#include "trainer/core/metrics.h"
#include "trainer/core/trainer_options.h"
#include "trainer/core/trainer_state.h"
#include "trainer/fit_result.h"
#include "trainer/trainer_parts.h"

namespace levin {

class LightningDataModule;
class LightningModule;
struct Run;

/// Runs a LightningModule: training with validation, validation, test, prediction.
///
///   levin::Trainer trainer({.max_epochs = 3});
///   trainer.fit(model, data);
///
/// Options name what is built in; parts are objects that the user brings. Call from one thread. A second fit goes on
/// counting epochs and steps where the first one ended.
///
/// Errors of all methods: ConfigError for wrong options or missing steps and loaders; DataError; ModelError for what
/// LibTorch throws in a step; CheckpointError; and whatever the user's own code throws. A run that fails before the end
/// of its first step leaves no run folder.
class Trainer {
 public:
  /// Seeds LibTorch's generators if options.seed is set, so build the model afterwards.
  /// Errors: ConfigError that lists everything that is wrong, before a device is touched.
  explicit Trainer(TrainerOptions options = {}, TrainerParts parts = {});
  ~Trainer();
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  /// resume: "" to begin anew, or the checkpoint to go on from, so that the run ends as if it had never been stopped:
  /// "last" (the newest whole checkpoint of the experiment's newest run that has one), "auto" (the same, or anew if
  /// there is none), "best", or a checkpoint folder. Weights, optimizers, schedules, position within the epoch, random
  /// generators, callbacks and metrics are put back; the seed is that of the checkpoint. From the newest checkpoint of
  /// a run, the fit goes on in its run folder; from an older one, in a new folder.
  ///
  /// SIGINT and SIGTERM end it at the next step border with a checkpoint (see FitStatus) unless handle_signals is off.
  FitResult fit(LightningModule& module, LightningDataModule& data, const std::string& resume = "");
  /// Without a data module; val_loader may be left out.
  FitResult fit(LightningModule& module, DataLoader& train_loader, DataLoader* val_loader = nullptr,
                const std::string& resume = "");

  /// Searches for the batch size, the learning rate or both, by short trainings that leave no trace in the module, the
  /// random generators or the position of the loaders. The batch size that is found is set on the data module; the
  /// learning rate is for the caller to use. Writes a report with what was tried into a run folder. To train with what
  /// is found at once, use TrainerParts::tuner and fit(). Errors: ConfigError where a search is not possible;
  /// ModelError if no batch size fits.
  TunerResult tune(LightningModule& module, LightningDataModule& data, const TunerOptions& options);
  /// Without a data module: learning rate only.
  TunerResult tune(LightningModule& module, DataLoader& train_loader, const TunerOptions& options);

  /// One pass over the validation or test data; returns what the steps logged. `checkpoint`: a checkpoint folder whose
  /// weights are loaded first; empty: the module as it is.
  Metrics validate(LightningModule& module, LightningDataModule& data, const std::filesystem::path& checkpoint = {});
  Metrics validate(LightningModule& module, DataLoader& loader, const std::filesystem::path& checkpoint = {});
  Metrics test(LightningModule& module, LightningDataModule& data, const std::filesystem::path& checkpoint = {});
  Metrics test(LightningModule& module, DataLoader& loader, const std::filesystem::path& checkpoint = {});

  /// What predict_step returns for each batch, in the order of the data, on the CPU. return_predictions: false returns
  /// nothing and keeps no batch in memory once callbacks, such as PredictionWriter, have seen it.
  std::vector<Batch> predict(LightningModule& module, LightningDataModule& data,
                             const std::filesystem::path& checkpoint = {}, bool return_predictions = true);
  std::vector<Batch> predict(LightningModule& module, DataLoader& loader, const std::filesystem::path& checkpoint = {},
                             bool return_predictions = true);

  const TrainerState& state() const;
  /// Newest value of everything that was logged.
  const Metrics& metrics() const;
  /// Empty until a run has made its folder.
  std::filesystem::path run_dir() const;

 private:
  std::unique_ptr<Run> run_;
};

}  // namespace levin
