#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "callbacks/callback.h"
#include "callbacks/console.h"
#include "trainer/core/option_visitor.h"

namespace torch::nn {
class Module;
}

namespace levin {

/// Prints the table of summarize() when a fit starts, on rank 0.
class ModelSummary final : public Callback {
 public:
  struct Options {
    /// Levels of submodules that have a row; 0: totals only, -1: all.
    int64_t max_depth = 2;

    void visit(OptionVisitor& visitor);
  };

  ModelSummary() : ModelSummary(Options{}) {}
  /// console: nullptr for stderr. Errors: ConfigError if an option is not allowed.
  explicit ModelSummary(const Options& options, std::shared_ptr<Console> console = nullptr);

  void on_fit_start(const RunContext& run) override;

 private:
  Options options_;
  std::shared_ptr<Console> console_;
};

/// A row of the table below.
struct SummaryRow {
  std::string name = {};    ///< "encoder.conv1"; "." for what the module itself holds.
  std::string type = {};    ///< "Conv2d"
  std::string shapes = {};  ///< Of its own parameters: "[64, 32, 3, 3] [64]".
  int64_t parameters = 0;   ///< In it and below.
  int64_t bytes = 0;        ///< Their size.
};

/// The rows of summarize() as data.
std::vector<SummaryRow> summary_rows(const torch::nn::Module& module, int64_t max_depth);

/// A table of the module's parts (name, type, shapes of the part's own parameters, and the number and bytes of the
/// parameters in it and below), then totals: trainable and frozen parameters, buffers. Lines end in "\n".
///
/// max_depth: levels of submodules that have a row; 0: totals only, -1: all. A row at the last level counts what lies
/// below it. A tensor that is registered in several places counts once, in the first. Optimizer state, gradients and
/// activations are not counted. Nothing is copied from a device.
std::string summarize(const torch::nn::Module& module, int64_t max_depth);

}  // namespace levin
