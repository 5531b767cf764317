#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "callbacks/callback.h"
#include "trainer/core/communicator.h"

namespace levin {

// A module that callbacks may hold and do not call.
LightningModule& fake_module();

// Makes a folder where a checkpoint is asked for.
class FakeControl final : public TrainerControl {
 public:
  void request_stop(const std::string& /*reason*/) override {}
  void save_checkpoint(const std::filesystem::path& path) override {
    if (before_save) before_save(path);
    std::filesystem::create_directories(path);
    saved.push_back(path);
  }
  void log(std::string_view /*name*/, double /*value*/) override {}

  std::vector<std::filesystem::path> saved;
  std::function<void(const std::filesystem::path&)> before_save;
};

// What a loop holds, for callbacks that are called by hand.
struct FakeRun {
  RunContext context(Stage stage) {
    return {.stage = stage,
            .state = state,
            .metrics = metrics,
            .store = stage == Stage::kTrain ? train_store : evaluation_store,
            .module = fake_module(),
            .communicator = *communicator,
            .control = control,
            .run_dir = run_dir,
            .num_batches = num_batches,
            .max_epochs = max_epochs,
            .max_steps = max_steps};
  }

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
