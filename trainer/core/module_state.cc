#include "trainer/core/module_state.h"

#include <ATen/MemoryOverlap.h>
#include <c10/core/GradMode.h>
#include <c10/core/InferenceMode.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>
#include <map>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "trainer/core/error.h"
#include "trainer/core/tied_tensors.h"

namespace levin {
namespace {

using Slots = std::vector<std::pair<std::string, at::Tensor>>;

Slots slots_of(const torch::nn::Module& module) {
  Slots slots;
  for (const auto& item : module.named_parameters()) slots.emplace_back(item.key(), item.value());
  for (const auto& item : module.named_buffers()) {
    if (item.value().defined()) slots.emplace_back(item.key(), item.value());
  }
  return slots;
}

std::string shape_of(const at::Tensor& tensor) { return fmt::format("[{}]", fmt::join(tensor.sizes(), ", ")); }

// False if copying to or from it would fail, or do nothing.
bool has_values(const at::Tensor& tensor) {
  return tensor.layout() == at::kStrided && !tensor.is_meta() &&
         (tensor.numel() == 0 || tensor.const_data_ptr() != nullptr);
}

// Why `saved` cannot be copied into `slot`, or "".
std::string find_obstacle(const at::Tensor& slot, const StateDict::Value& value) {
  const auto* saved = std::get_if<at::Tensor>(&value);
  if (saved == nullptr || !saved->defined()) return "not a tensor in the checkpoint";
  if (saved->sizes() != slot.sizes()) {
    return fmt::format("{} in the module, {} in the checkpoint", shape_of(slot), shape_of(*saved));
  }
  if (!c10::canCast(saved->scalar_type(), slot.scalar_type())) {
    return fmt::format("{} in the module, {} in the checkpoint", c10::toString(slot.scalar_type()),
                       c10::toString(saved->scalar_type()));
  }
  if (!has_values(*saved)) return "without values in the checkpoint";
  if (!has_values(slot)) return "without memory in the module";
  if (at::has_internal_overlap(slot) == at::MemOverlap::Yes) {
    return "several elements share memory in the module (an expanded tensor)";
  }
  if (slot.is_inference() && !c10::InferenceMode::is_enabled()) return "made in inference mode in the module";
  return "";
}

// Bit by bit, so that a NaN equals itself.
bool are_equal(const at::Tensor& a, const at::Tensor& b) {
  if (a.scalar_type() != b.scalar_type()) return false;
  const at::Tensor a_bytes = a.cpu().contiguous();
  const at::Tensor b_bytes = b.cpu().contiguous();
  return a_bytes.const_data_ptr() == b_bytes.const_data_ptr() ||
         std::memcmp(a_bytes.const_data_ptr(), b_bytes.const_data_ptr(), a_bytes.nbytes()) == 0;
}

// Finds for every slot what is to be copied into it, and everything that speaks against it.
class LoadPlan {
 public:
  LoadPlan(const Slots& slots, const StateDict& state) : slots_(slots) {
    for (const auto& [name, value] : state) saved_[name] = &value;
    std::vector<at::Tensor> tensors;
    for (const auto& [name, tensor] : slots_) tensors.push_back(tensor);
    const std::vector<size_t> first = find_ties(tensors);
    for (size_t i = 0; i < slots_.size(); ++i) names_of_[first[i]].push_back(slots_[i].first);
    for (const auto& [index, names] : names_of_) plan_slot(slots_[index].second, names);
    find_unexpected(state);
  }

  // Empty if the state fits.
  std::string problems() const {
    std::string text;
    const auto append = [&](const char* kind, const std::vector<std::string>& names, const char* separator) {
      if (!names.empty()) text += fmt::format("\n  {}: {}", kind, fmt::join(names, separator));
    };
    append("missing", missing_, ", ");
    append("unexpected", unexpected_, ", ");
    append("mismatched", mismatched_, "; ");
    return text;
  }

  void execute() const {
    const c10::AutoGradMode no_grad(false);
    for (const auto& [slot, saved] : copies_) slot.copy_(saved);
  }

 private:
  void plan_slot(const at::Tensor& slot, const std::vector<std::string>& names) {
    const at::Tensor* chosen = nullptr;
    bool is_found = false;
    for (const std::string& name : names) {
      const auto found = saved_.find(name);
      if (found == saved_.end()) continue;
      is_found = true;
      if (const std::string obstacle = find_obstacle(slot, *found->second); !obstacle.empty()) {
        mismatched_.push_back(fmt::format("{} ({})", name, obstacle));
        continue;
      }
      const at::Tensor& tensor = std::get<at::Tensor>(*found->second);
      if (chosen != nullptr && !are_equal(*chosen, tensor)) {
        mismatched_.push_back(
            fmt::format("{} (tied in the module, different values in the checkpoint)", fmt::join(names, " = ")));
        return;
      }
      chosen = &tensor;
    }
    if (!is_found) missing_.insert(missing_.end(), names.begin(), names.end());
    if (chosen != nullptr) copies_.emplace_back(slot, *chosen);
  }

  void find_unexpected(const StateDict& state) {
    std::unordered_set<std::string_view> known;
    for (const auto& [name, tensor] : slots_) known.insert(name);
    for (const auto& [name, value] : state) {
      if (!known.contains(name)) unexpected_.push_back(name);
    }
  }

  const Slots& slots_;
  std::map<std::string_view, const StateDict::Value*> saved_;
  std::map<size_t, std::vector<std::string>> names_of_;  // of the tied slots, by the index of the first
  std::vector<std::pair<at::Tensor, at::Tensor>> copies_;
  std::vector<std::string> missing_, unexpected_, mismatched_;
};

}  // namespace

StateDict module_state(const torch::nn::Module& module) {
  StateDict state;
  for (const auto& [name, tensor] : slots_of(module)) {
    if (state.contains(name)) {
      throw ModelError(fmt::format("[Checkpoint] a parameter and a buffer are both called \"{}\".", name));
    }
    state.set(name, tensor.detach());
  }
  return state;
}

void load_module_state(torch::nn::Module& module, const StateDict& state) {
  const Slots slots = slots_of(module);
  const LoadPlan plan(slots, state);
  if (const std::string problems = plan.problems(); !problems.empty()) {
    throw CheckpointError(
        fmt::format("[Checkpoint] the saved state does not fit the module {}:{}", module.name(), problems));
  }
  plan.execute();
}

}  // namespace levin
