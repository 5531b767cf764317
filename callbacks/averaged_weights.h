#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <string>
#include <utility>
#include <vector>

#include "trainer/core/state_dict.h"

namespace levin {

/// A running average of a module's weights beside the weights themselves.
///
/// Covers the parameters and, if asked for, the buffers, as far as they are of floating or complex type; a tied tensor
/// once. Averages of half and bfloat16 tensors are kept in float32, where small updates are not lost to rounding. Each
/// update is one foreach call (two where there are such tensors) and allocates nothing. Never synchronises the device.
///
/// Memory: one copy of the weights, and one more from the first swap_in() on. The module must not replace its tensors
/// while this object holds them; changing their values is what it is made for. Call from one thread.
class AveragedWeights {
 public:
  /// Takes the tensors of `module`; their values are the first average.
  AveragedWeights(const torch::nn::Module& module, bool with_buffers);

  /// average = weights.
  void copy_weights();
  /// average += fraction * (weights - average). `fraction` in [0, 1].
  void update(double fraction);

  /// Puts the average into the module; the weights are set aside. Does nothing if the average is in there already.
  void swap_in();
  /// Puts the weights back, bit by bit. Does nothing if they are in there already.
  void swap_out();
  bool is_swapped_in() const { return is_swapped_in_; }

  /// Replaces the entries of the module's tensors in `model` by their averages, in the dtype of the module.
  void replace_in(StateDict& model) const;

  /// Weights ("weight.<name>") and averages ("average.<name>"), as aliases.
  StateDict state() const;
  /// Takes both from state(); the weights go into the module, which no longer holds the average then. Errors:
  /// CheckpointError, before anything is changed, if a tensor is missing or of another shape.
  void load_state(const StateDict& state);

 private:
  const std::vector<at::Tensor>& weights() const { return is_swapped_in_ ? aside_ : live_; }

  std::vector<std::string> names_;                     // of live_
  std::vector<std::pair<std::string, size_t>> slots_;  // every name of a tensor, and its index
  std::vector<at::Tensor> live_;
  std::vector<at::Tensor> average_;
  std::vector<at::Tensor> source_;    // what update() reads: the live tensor, or its float32 copy
  std::vector<at::Tensor> low_live_;  // live tensors that have such a copy
  std::vector<at::Tensor> low_copy_;  // the copies
  std::vector<at::Tensor> aside_;     // the weights while the average is in the module
  bool is_swapped_in_ = false;
};

}  // namespace levin
