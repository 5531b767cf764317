#include "trainer/micro_batches.h"

namespace levin {

void PartOutputs::add(const StepOutput& output, int64_t num_samples) {
  const bool is_first = !only_ && !sum_.defined();
  if (output.is_skip()) return;
  only_ = is_first ? std::optional(output) : std::nullopt;
  const double weight = output.is_weighted() ? output.weight() : static_cast<double>(num_samples);
  const at::Tensor loss = output.loss().detach();
  const at::Tensor part = output.is_weighted() ? loss : loss.mul(weight);
  sum_ = sum_.defined() ? sum_.add(part) : part;
  weight_ += weight;
  is_weighted_ = output.is_weighted();
}

StepOutput PartOutputs::total() const {
  if (only_) return *only_;
  if (!sum_.defined()) return StepOutput::skip();
  return is_weighted_ ? StepOutput(sum_, weight_) : StepOutput(sum_.div(weight_));
}

}  // namespace levin
