#pragma once

#include <exception>

#include "trainer/core/lightning_module.h"
#include "trainer/run.h"

namespace levin {

/// Everything around the loop of one call of the Trainer: prepare_data, setup and configure_model before it, teardown
/// after it, and on_exception in between if it fails.
class StageScope {
 public:
  /// Sets everything up. Errors: what a hook throws; what was set up is then torn down.
  StageScope(Run& run, LightningModule& module, Stage stage);
  StageScope(const StageScope&) = delete;
  StageScope& operator=(const StageScope&) = delete;
  ~StageScope() { run_.data = nullptr; }

  /// Calls teardown. Errors: what a hook throws.
  void tear_down();
  /// Tells the callbacks and the data module, where the loop has not done so, and tears down. The error stays the one
  /// to report: others are warned of.
  void fail(const std::exception& error) noexcept;

 private:
  void set_up();

  Run& run_;
  LightningModule& module_;
  Stage stage_;
};

/// Runs work() between setup and teardown.
template <class Work>
auto in_stage(Run& run, LightningModule& module, Stage stage, Work work) {
  StageScope scope(run, module, stage);
  auto result = [&] {
    try {
      return work();
    } catch (const std::exception& error) {
      scope.fail(error);
      throw;
    }
  }();
  scope.tear_down();
  return result;
}

}  // namespace levin
