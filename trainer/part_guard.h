#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "trainer/core/state_dict.h"
#include "trainer/loss_window.h"

namespace levin {

/// Lets one part of a batch fail without a trace: after it is made, backward finds no gradients. keep() adds the new
/// ones to those that were there; put_back() puts gradients, buffers, the random generators and the window back.
class PartGuard {
 public:
  /// The references must outlive the guard.
  PartGuard(std::vector<at::Tensor>& parameters, std::vector<at::Tensor>& buffers, LossWindow& window);
  PartGuard(const PartGuard&) = delete;
  PartGuard& operator=(const PartGuard&) = delete;

  void keep();
  void put_back();

 private:
  std::vector<at::Tensor>& parameters_;
  std::vector<at::Tensor>& buffers_;
  LossWindow& window_;
  std::vector<at::Tensor> gradients_;
  std::vector<at::Tensor> saved_buffers_;
  StateDict random_;
  LossWindow saved_window_;
};

}  // namespace levin
