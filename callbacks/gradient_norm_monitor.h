#pragma once

#include "callbacks/callback.h"
#include "trainer/core/option_visitor.h"

namespace levin {

/// Logs the norm of all gradients before they are clipped, as `grad_norm`, on logging steps only.
///
/// The norms are computed on the device in one foreach call and read at once: one synchronisation for each logging
/// step. A tied parameter counts once; one without a gradient does not. Where a strategy gives each rank a part of the
/// gradients, the values are those of the part of this rank.
class GradientNormMonitor final : public Callback {
 public:
  struct Options {
    /// p of the p-norm; infinity (.inf in YAML) for the largest absolute value.
    double norm_type = 2.0;
    /// Log the norm of each parameter's gradient too, as "grad_norm/<parameter>".
    bool per_parameter = false;

    void visit(OptionVisitor& visitor);
  };

  GradientNormMonitor() : GradientNormMonitor(Options{}) {}
  /// Errors: ConfigError if an option is not allowed.
  explicit GradientNormMonitor(const Options& options);

  void on_before_optimizer_step(const RunContext& run) override;

 private:
  Options options_;
};

}  // namespace levin
