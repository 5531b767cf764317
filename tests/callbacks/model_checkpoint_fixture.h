#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "callbacks/model_checkpoint.h"
#include "tests/callbacks/fake_run.h"
#include "trainer/core/batch.h"

namespace levin {

// Plays the loop by hand: `epoch()` trains some steps and, where a value is given, validates.
class ModelCheckpointTest : public testing::Test {
 protected:
  ModelCheckpointTest() { run_.run_dir = folder_.path; }

  std::filesystem::path dir() const { return folder_.path / "checkpoints"; }

  void start(const ModelCheckpoint::Options& options) {
    checkpoint_ = std::make_unique<ModelCheckpoint>(options, [this] { return now_s_; });
    checkpoint_->on_train_start(train());
  }
  RunContext train() { return run_.context(Stage::kTrain); }
  RunContext validate() { return run_.context(Stage::kValidate); }

  void step() {
    ++run_.state.global_step;
    checkpoint_->on_train_batch_end(train(), StepOutput::skip(), Batch());
    write();
  }
  void validation(double value) {
    checkpoint_->on_validation_start(validate());
    run_.evaluation_store.reset_epoch();
    run_.evaluation_store.log("val", value, {}, 1.0);
    run_.metrics.set("val", value);
    checkpoint_->on_validation_end(validate());
    write();
  }
  void epoch(int64_t num_steps, std::optional<double> value = std::nullopt) {
    checkpoint_->on_train_epoch_start(train());
    for (int64_t i = 0; i < num_steps; ++i) step();
    if (value) validation(*value);
    checkpoint_->on_train_epoch_end(train());
    write();
    ++run_.state.epoch;
  }
  void end() {
    checkpoint_->on_train_end(train());
    write();
    checkpoint_->on_fit_end(train());
  }
  void resume(const ModelCheckpoint::Options& options, const StateDict& state) {
    checkpoint_ = std::make_unique<ModelCheckpoint>(options, [this] { return now_s_; });
    checkpoint_->load_state(state);
    run_.control.owners.clear();  // as in a new fit
    checkpoint_->on_train_start(train());
  }
  // As the loop does once all callbacks had their hook. Keeps what the checkpoint holds of the callback.
  void write() {
    state_ = checkpoint_->state();
    run_.control.write_checkpoints();
  }

  // Folders in the folder of the checkpoints, without links.
  std::set<std::string> folders() const {
    std::set<std::string> names;
    if (!std::filesystem::exists(dir())) return names;
    for (const auto& entry : std::filesystem::directory_iterator(dir())) {
      if (!entry.is_symlink()) names.insert(entry.path().filename());
    }
    return names;
  }
  // All that was ever saved.
  std::vector<std::string> saved() const {
    std::vector<std::string> names;
    for (const std::filesystem::path& path : run_.control.saved) names.push_back(path.filename());
    return names;
  }
  std::string link(const char* name) const {
    return std::filesystem::is_symlink(dir() / name) ? std::filesystem::read_symlink(dir() / name).string() : "";
  }

  TemporaryFolder folder_;
  FakeRun run_;
  std::unique_ptr<ModelCheckpoint> checkpoint_;
  StateDict state_;  // as of the end of the newest hook
  double now_s_ = 0.0;
};

}  // namespace levin
