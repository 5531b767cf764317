#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "callbacks/callback.h"
#include "trainer/core/communicator.h"

namespace levin {

// A module that callbacks may hold and do not call.
LightningModule& fake_module();

// Keeps what callbacks ask for. Checkpoints wait for write_checkpoints(), as they wait for the end of the hooks in a
// fit.
class FakeControl final : public TrainerControl {
 public:
  using TrainerControl::log;
  using TrainerControl::save_checkpoint;
  void request_stop(const std::string& reason) override { stop_reasons.push_back(reason); }
  void save_checkpoint(const std::filesystem::path& path, const SaveOptions& options) override {
    pending_.emplace_back(path, options);
  }
  // Makes a folder for each checkpoint, in one step even where there is one, and removes what it replaces.
  void write_checkpoints();
  void go_back_to(const std::filesystem::path& checkpoint) override { went_back_to.push_back(checkpoint); }
  std::optional<std::filesystem::path> last_checkpoint() override {
    return saved.empty() ? std::nullopt : std::optional(saved.back());
  }
  bool claim(const std::filesystem::path& path, const std::string& owner) override {
    return owners.try_emplace(path, owner).first->second == owner;
  }
  void skip_optimizer_step() override { ++num_skipped_steps; }
  void set_accumulate_grad_batches(int64_t num_batches) override { accumulate_grad_batches.push_back(num_batches); }
  void log(std::string_view name, double value, const LogOptions& options) override {
    logged.set(name, value);
    log_options.emplace_back(name, options);
  }

  std::map<std::filesystem::path, std::string> owners;
  std::vector<std::string> stop_reasons;
  std::vector<std::filesystem::path> saved;  // those that are complete
  std::vector<SaveOptions> save_options;
  std::vector<std::filesystem::path> went_back_to;
  int64_t num_skipped_steps = 0;
  std::vector<int64_t> accumulate_grad_batches;
  Metrics logged;
  std::vector<std::pair<std::string, LogOptions>> log_options;
  bool is_first_rank = true;  // another one asks for the same saves, and writes nothing
  std::function<void(const std::filesystem::path&)> before_save;  // may throw, as a full disk does

 private:
  std::vector<std::pair<std::filesystem::path, SaveOptions>> pending_;
};

// What a loop holds, for callbacks that are called by hand.
struct FakeRun {
  RunContext context(Stage stage) {
    return {.stage = stage,
            .is_sanity_checking = is_sanity_checking,
            .is_fitting = is_fitting,
            .has_validation = has_validation,
            .state = state,
            .metrics = metrics,
            .store = stage == Stage::kTrain ? train_store : evaluation_store,
            .module = module != nullptr ? *module : fake_module(),
            .optimizers = optimizers,
            .communicator = *communicator,
            .control = control,
            .loggers = loggers,
            .options = options,
            .run_dir = run_dir,
            .num_batches = num_batches,
            .max_epochs = max_epochs,
            .max_steps = max_steps,
            .is_logging_step = is_logging_step,
            .sample_indices = sample_indices};
  }

  bool is_sanity_checking = false;
  bool is_fitting = true;
  bool has_validation = true;
  bool is_logging_step = true;
  LightningModule* module = nullptr;  // fake_module() if there is none
  Optimizers* optimizers = nullptr;
  std::vector<std::shared_ptr<Logger>> loggers;
  TrainerOptions options;
  TrainerState state;
  Metrics metrics;
  MetricStore train_store{Stage::kTrain};
  MetricStore evaluation_store{Stage::kValidate};
  SingleProcessCommunicator alone;
  Communicator* communicator = &alone;
  FakeControl control;
  std::filesystem::path run_dir;
  std::optional<int64_t> num_batches;
  std::optional<int64_t> max_epochs;
  std::optional<int64_t> max_steps;
  std::vector<int64_t> sample_indices;
};

// A folder that is gone after the test.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder() { std::filesystem::remove_all(path); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::filesystem::path path;
};

}  // namespace levin
