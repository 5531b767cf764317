#include "trainer/precision/true_precision.h"

#include <c10/core/DefaultDtype.h>
#include <torch/nn/module.h>

#include "trainer/core/error.h"

namespace levin {
namespace {

class DefaultDtypeScope final : public ForwardScope {
 public:
  explicit DefaultDtypeScope(at::ScalarType dtype) : previous_(c10::get_default_dtype()) {
    c10::set_default_dtype(c10::scalarTypeToTypeMeta(dtype));
  }
  ~DefaultDtypeScope() override { c10::set_default_dtype(previous_); }

 private:
  caffe2::TypeMeta previous_;
};

void convert(at::Tensor& tensor, at::ScalarType dtype) {
  // Module::to(dtype) would convert integer buffers too, for example a count of batches.
  if (tensor.defined() && tensor.is_floating_point() && tensor.scalar_type() != dtype)
    tensor.set_data(tensor.to(dtype));
}

bool needs_conversion(const Batch& batch, at::ScalarType dtype) {
  if (batch.is_tensor()) {
    const at::Tensor& leaf = batch.tensor();
    return leaf.defined() && leaf.is_floating_point() && leaf.scalar_type() != dtype;
  }
  if (batch.is_list()) {
    for (const Batch& item : batch.items()) {
      if (needs_conversion(item, dtype)) return true;
    }
    return false;
  }
  for (const auto& [name, value] : batch.fields()) {
    if (needs_conversion(value, dtype)) return true;
  }
  return false;
}

}  // namespace

TruePrecision::TruePrecision(at::ScalarType dtype) : dtype_(dtype) {
  if (dtype != at::kFloat && dtype != at::kDouble)
    throw InternalError("[TruePrecision] dtype must be float32 or float64.");
}

std::string_view TruePrecision::name() const { return dtype_ == at::kFloat ? "32-true" : "64-true"; }

void TruePrecision::convert_module(torch::nn::Module& module) const {
  for (at::Tensor& parameter : module.parameters()) convert(parameter, dtype_);
  for (at::Tensor& buffer : module.buffers()) convert(buffer, dtype_);
}

Batch TruePrecision::convert_input(Batch batch) const {
  if (!needs_conversion(batch, dtype_)) return batch;
  return batch.map([&](const at::Tensor& leaf) { return leaf.is_floating_point() ? leaf.to(dtype_) : leaf; });
}

std::unique_ptr<ForwardScope> TruePrecision::forward_scope() const {
  if (dtype_ == at::kFloat) return nullptr;
  return std::make_unique<DefaultDtypeScope>(dtype_);
}

}  // namespace levin
