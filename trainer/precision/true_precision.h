#pragma once

#include <c10/core/ScalarType.h>

#include "trainer/precision/precision.h"

namespace levin {

/// One dtype for parameters, inputs and computation: "32-true" and "64-true".
class TruePrecision final : public Precision {
 public:
  /// dtype: at::kFloat or at::kDouble. Errors: InternalError for another one.
  explicit TruePrecision(at::ScalarType dtype);

  std::string_view name() const override;
  void convert_module(torch::nn::Module& module) const override;
  Batch convert_input(Batch batch) const override;
  /// For 64-true, tensors that a step creates without a dtype are float64.
  std::unique_ptr<ForwardScope> forward_scope() const override;

 private:
  at::ScalarType dtype_;
};

}  // namespace levin
