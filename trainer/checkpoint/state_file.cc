#include "trainer/checkpoint/state_file.h"

#include <algorithm>

#include "trainer/core/files/safetensors.h"
#include "trainer/core/tied_tensors.h"

namespace levin {
namespace {

// Names that would make the usual entry "format": "pt" look like a tie, or hide one.
bool is_ambiguous(const NamedTensors& tensors) {
  return std::any_of(tensors.begin(), tensors.end(),
                     [](const auto& entry) { return entry.first == "format" || entry.first == "pt"; });
}

NamedTensors tensors_of(const StateDict& state) {
  NamedTensors tensors;
  for (const auto& [name, value] : state) {
    if (const auto* tensor = std::get_if<at::Tensor>(&value)) tensors.emplace_back(name, *tensor);
  }
  return tensors;
}

std::vector<size_t> find_ties_of(const NamedTensors& named) {
  std::vector<at::Tensor> tensors;
  tensors.reserve(named.size());
  for (const auto& [name, tensor] : named) tensors.push_back(tensor);
  return find_ties(tensors);
}

}  // namespace

void write_state_tensors(FileWriter& writer, const StateDict& state) {
  const NamedTensors all = tensors_of(state);
  const std::vector<size_t> first = find_ties_of(all);
  NamedTensors distinct;
  SafetensorsMetadata metadata;
  for (size_t i = 0; i < all.size(); ++i) {
    if (first[i] == i) {
      distinct.push_back(all[i]);
    } else {
      metadata[all[i].first] = all[first[i]].first;
    }
  }
  if (!is_ambiguous(all)) metadata["format"] = "pt";
  write_safetensors(writer, distinct, metadata);
}

StateDict read_state_tensors(const std::filesystem::path& path) {
  const SafetensorsFile file(path);
  StateDict state;
  for (const SafetensorsEntry& entry : file.entries()) state.set(entry.name, file.read(entry));
  for (const auto& [name, tied_to] : file.metadata()) {
    if (!file.contains(name) && file.contains(tied_to)) {
      const at::Tensor tensor = state.tensor(tied_to);
      state.set(name, tensor);
    }
  }
  return state;
}

}  // namespace levin
