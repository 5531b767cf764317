#include "callbacks/averaged_weights.h"

#include <ATen/ops/_foreach_copy.h>
#include <ATen/ops/_foreach_lerp.h>
#include <ATen/ops/empty_like.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

#include "trainer/core/error.h"
#include "trainer/core/tied_tensors.h"

namespace levin {
namespace {

bool can_be_averaged(const at::Tensor& tensor) {
  return tensor.defined() && tensor.layout() == at::kStrided &&
         (at::isFloatingType(tensor.scalar_type()) || at::isComplexType(tensor.scalar_type()));
}

bool needs_float32(const at::Tensor& tensor) {
  return tensor.scalar_type() == at::kHalf || tensor.scalar_type() == at::kBFloat16;
}

const at::Tensor& fitting_tensor(const StateDict& state, const std::string& name, const at::Tensor& target) {
  const at::Tensor& tensor = state.tensor(name);
  if (tensor.sizes() != target.sizes()) {
    throw CheckpointError(fmt::format("[AveragedWeights] {} must have the shape [{}] of the module, got [{}].", name,
                                      fmt::join(target.sizes(), ", "), fmt::join(tensor.sizes(), ", ")));
  }
  return tensor;
}

}  // namespace

AveragedWeights::AveragedWeights(const torch::nn::Module& module, bool with_buffers) {
  std::vector<std::pair<std::string, at::Tensor>> all;
  for (const auto& item : module.named_parameters()) all.emplace_back(item.key(), item.value());
  if (with_buffers) {
    for (const auto& item : module.named_buffers()) all.emplace_back(item.key(), item.value());
  }
  std::vector<at::Tensor> tensors;
  tensors.reserve(all.size());
  for (const auto& [name, tensor] : all) tensors.push_back(tensor);
  const std::vector<size_t> first = find_ties(tensors);
  std::map<size_t, size_t> index_of;
  for (size_t i = 0; i < all.size(); ++i) {
    if (!can_be_averaged(tensors[i])) continue;
    if (first[i] == i) {
      index_of[i] = live_.size();
      names_.push_back(all[i].first);
      live_.push_back(tensors[i].detach());
    }
    slots_.emplace_back(all[i].first, index_of.at(first[i]));
  }
  for (const at::Tensor& tensor : live_) {
    if (!needs_float32(tensor)) {
      average_.push_back(at::empty_like(tensor));
      source_.push_back(tensor);
      continue;
    }
    average_.push_back(at::empty_like(tensor, tensor.options().dtype(at::kFloat)));
    source_.push_back(at::empty_like(average_.back()));
    low_live_.push_back(tensor);
    low_copy_.push_back(source_.back());
  }
  copy_weights();
}

void AveragedWeights::copy_weights() {
  const c10::AutoGradMode no_grad(false);
  if (!live_.empty()) at::_foreach_copy_(average_, live_);
}

void AveragedWeights::update(double fraction) {
  const c10::AutoGradMode no_grad(false);
  if (!low_live_.empty()) at::_foreach_copy_(low_copy_, low_live_);
  if (!live_.empty()) at::_foreach_lerp_(average_, source_, fraction);
}

void AveragedWeights::swap_in() {
  if (is_swapped_in_) return;
  const c10::AutoGradMode no_grad(false);
  if (aside_.empty()) {
    for (const at::Tensor& tensor : live_) aside_.push_back(at::empty_like(tensor));
  }
  is_swapped_in_ = true;
  if (live_.empty()) return;
  at::_foreach_copy_(aside_, live_);
  at::_foreach_copy_(live_, average_);
}

void AveragedWeights::swap_out() {
  if (!is_swapped_in_) return;
  const c10::AutoGradMode no_grad(false);
  if (!live_.empty()) at::_foreach_copy_(live_, aside_);
  is_swapped_in_ = false;
}

void AveragedWeights::replace_in(StateDict& model) const {
  std::map<std::string_view, size_t> index_of;
  for (const auto& [name, index] : slots_) index_of.emplace(name, index);
  std::vector<at::Tensor> stored;  // one for all names of a tied tensor
  for (size_t i = 0; i < live_.size(); ++i) stored.push_back(average_[i].to(live_[i].scalar_type()));
  StateDict replaced;
  for (const auto& [name, value] : model) {
    const auto found = index_of.find(name);
    replaced.set(name, found == index_of.end() ? value : StateDict::Value(stored[found->second]));
  }
  model = std::move(replaced);
}

StateDict AveragedWeights::state() const {
  StateDict state;
  for (size_t i = 0; i < names_.size(); ++i) {
    state.set("weight." + names_[i], weights()[i]);
    state.set("average." + names_[i], average_[i]);
  }
  return state;
}

void AveragedWeights::load_state(const StateDict& state) {
  std::vector<at::Tensor> saved_weights, saved_averages;
  for (size_t i = 0; i < names_.size(); ++i) {
    saved_weights.push_back(fitting_tensor(state, "weight." + names_[i], live_[i]));
    saved_averages.push_back(fitting_tensor(state, "average." + names_[i], live_[i]));
  }
  const c10::AutoGradMode no_grad(false);
  is_swapped_in_ = false;
  if (live_.empty()) return;
  at::_foreach_copy_(live_, saved_weights);
  at::_foreach_copy_(average_, saved_averages);
}

}  // namespace levin
