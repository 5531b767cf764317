#include "callbacks/gradient_norm_monitor.h"

#include <ATen/ops/cat.h>

#include "callbacks/check_options.h"
#include "callbacks/gradient_norm.h"
#include "trainer/core/lightning_module.h"

namespace levin {

void GradientNormMonitor::Options::visit(OptionVisitor& visitor) {
  visitor.field("norm_type", norm_type, "p of the p-norm; .inf: the largest absolute value", above(0));
  visitor.field("per_parameter", per_parameter, "log the norm of each parameter's gradient as well");
}

GradientNormMonitor::GradientNormMonitor(const Options& options) : options_(options) {
  check_options("GradientNormMonitor", options_);
}

void GradientNormMonitor::on_before_optimizer_step(const RunContext& run) {
  if (!run.is_logging_step) return;
  const NamedGradients gradients = gradients_of(run.module);
  if (gradients.tensors.empty()) return;
  const at::Tensor norms = norms_of(gradients.tensors, options_.norm_type);
  const at::Tensor total = total_norm(norms, options_.norm_type);
  if (!options_.per_parameter) {
    run.control.log("grad_norm", total.item<double>());
    return;
  }
  const at::Tensor values = at::cat({total.reshape({1}), norms}).to(at::kCPU, at::kDouble);
  const double* value = values.const_data_ptr<double>();
  run.control.log("grad_norm", *value++);
  for (const std::string& name : gradients.names) run.control.log("grad_norm/" + name, *value++);
}

}  // namespace levin
