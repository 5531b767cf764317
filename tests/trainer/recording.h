#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "callbacks/callback.h"
#include "callbacks/loggers/logger.h"

namespace levin {

// Writes each hook that is called as "<name>.<hook>".
class RecordingCallback final : public Callback {
 public:
  RecordingCallback(std::string name, std::vector<std::string>& calls, bool is_last = false)
      : name_(std::move(name)), calls_(calls), is_last_(is_last) {}

  void on_fit_start(const RunContext& /*run*/) override { add("on_fit_start"); }
  void on_fit_end(const RunContext& /*run*/) override { add("on_fit_end"); }
  void on_train_start(const RunContext& /*run*/) override { add("on_train_start"); }
  void on_train_end(const RunContext& /*run*/) override { add("on_train_end"); }
  void on_train_epoch_start(const RunContext& /*run*/) override { add("on_train_epoch_start"); }
  void on_train_epoch_end(const RunContext& /*run*/) override { add("on_train_epoch_end"); }
  void on_train_batch_start(const RunContext& /*run*/, const Batch& /*batch*/) override { add("on_train_batch_start"); }
  void on_train_batch_end(const RunContext& /*run*/, const StepOutput& /*output*/, const Batch& /*batch*/) override {
    add("on_train_batch_end");
  }
  void on_before_optimizer_step(const RunContext& /*run*/) override { add("on_before_optimizer_step"); }
  void on_validation_start(const RunContext& /*run*/) override { add("on_validation_start"); }
  void on_validation_batch_start(const RunContext& /*run*/, const Batch& /*batch*/) override {
    add("on_validation_batch_start");
  }
  void on_validation_batch_end(const RunContext& /*run*/, const Batch& /*batch*/) override {
    add("on_validation_batch_end");
  }
  void on_validation_end(const RunContext& /*run*/) override { add("on_validation_end"); }
  void on_exception(const RunContext& /*run*/, const std::exception& /*error*/) noexcept override {
    add("on_exception");
  }
  bool runs_last() const override { return is_last_; }

 private:
  void add(const char* hook) { calls_.push_back(name_ + "." + hook); }

  std::string name_;
  std::vector<std::string>& calls_;
  bool is_last_;
};

// Calls functions of the test.
struct HookCallback final : Callback {
  void on_train_batch_end(const RunContext& run, const StepOutput& output, const Batch& /*batch*/) override {
    if (batch_end) batch_end(run, output);
  }
  void on_before_optimizer_step(const RunContext& run) override {
    if (before_step) before_step(run);
  }
  void on_train_epoch_end(const RunContext& run) override {
    if (epoch_end) epoch_end(run);
  }
  void on_validation_end(const RunContext& run) override {
    if (validation_end) validation_end(run);
  }

  std::function<void(const RunContext&, const StepOutput&)> batch_end;
  std::function<void(const RunContext&)> before_step;
  std::function<void(const RunContext&)> epoch_end;
  std::function<void(const RunContext&)> validation_end;
};

struct RecordingLogger final : Logger {
  struct Row {
    int64_t step;
    int64_t epoch;
    Metrics metrics;
  };

  void open(const std::filesystem::path& run_dir) override { folder = run_dir; }
  void log_metrics(const Metrics& metrics, int64_t step, int64_t epoch) override {
    rows.push_back({step, epoch, metrics});
  }
  void flush() override {}

  // The steps of the rows that have `name`.
  std::vector<int64_t> steps_of(const char* name) const {
    std::vector<int64_t> steps;
    for (const Row& row : rows) {
      if (row.metrics.find(name)) steps.push_back(row.step);
    }
    return steps;
  }

  std::filesystem::path folder;
  std::vector<Row> rows;
};

// The text of the error of type E that `run` throws; a failure of the test if it throws none, or another one.
template <class E, class Run>
std::string thrown_text(const Run& run) {
  try {
    run();
  } catch (const E& error) {
    return error.what();
  } catch (const std::exception& error) {
    ADD_FAILURE() << "another type of error: " << error.what();
    return "";
  }
  ADD_FAILURE() << "no error";
  return "";
}

}  // namespace levin
