#include "trainer/part_guard.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_add.h>

#include <utility>

#include "trainer/core/random.h"

namespace levin {

PartGuard::PartGuard(std::vector<at::Tensor>& parameters, std::vector<at::Tensor>& buffers, LossWindow& window)
    : parameters_(parameters), buffers_(buffers), window_(window), random_(random_state()), saved_window_(window) {
  saved_buffers_.reserve(buffers.size());
  for (const at::Tensor& buffer : buffers) saved_buffers_.push_back(buffer.detach().clone());
  gradients_.reserve(parameters.size());
  for (at::Tensor& parameter : parameters) {
    gradients_.push_back(std::exchange(parameter.mutable_grad(), at::Tensor()));
  }
}

void PartGuard::keep() {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> sums;
  std::vector<at::Tensor> parts;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    if (!gradients_[i].defined()) continue;
    at::Tensor& gradient = parameters_[i].mutable_grad();
    if (gradient.defined()) {
      sums.push_back(gradients_[i]);
      parts.push_back(gradient);
    }
    gradient = gradients_[i];
  }
  if (!sums.empty()) at::_foreach_add_(sums, parts);
}

void PartGuard::put_back() {
  const at::NoGradGuard no_grad;
  for (size_t i = 0; i < parameters_.size(); ++i) parameters_[i].mutable_grad() = gradients_[i];
  for (size_t i = 0; i < buffers_.size(); ++i) buffers_[i].copy_(saved_buffers_[i]);
  load_random_state(random_);
  window_ = saved_window_;
}

}  // namespace levin
