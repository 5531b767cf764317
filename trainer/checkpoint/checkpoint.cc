#include "trainer/checkpoint/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "trainer/checkpoint/atomic_folder.h"
#include "trainer/checkpoint/manifest.h"
#include "trainer/checkpoint/state_file.h"
#include "trainer/checkpoint/state_json.h"
#include "trainer/core/error.h"
#include "trainer/core/files/json_text.h"

namespace levin {
namespace {

constexpr const char* kStateName = "state.json";

struct Part {
  const char* name;
  StateDict Checkpoint::*state;
  bool is_optional;  // its tensor file is left out if it would be empty
};

constexpr std::array<Part, 3> kParts = {{
    {"model", &Checkpoint::model, false},
    {"optimizer", &Checkpoint::optimizer, false},
    {"run", &Checkpoint::run, true},
}};

std::string tensor_file_of(const Part& part) { return std::string(part.name) + ".safetensors"; }

bool has_tensors(const StateDict& state) {
  return std::any_of(state.begin(), state.end(),
                     [](const auto& entry) { return std::holds_alternative<at::Tensor>(entry.second); });
}

void check_listed(const Manifest& manifest, const std::string& name, const std::filesystem::path& folder) {
  if (!manifest.contains(name)) {
    throw CheckpointError(fmt::format("[Checkpoint] {}: the manifest does not list {}.", folder.string(), name));
  }
}

void add_scalars(StateDict& state, const StateDict& scalars, const std::filesystem::path& folder) {
  for (const auto& [name, value] : scalars) {
    if (state.contains(name)) {
      throw CheckpointError(
          fmt::format("[Checkpoint] {}: \"{}\" is both a tensor and in {}.", folder.string(), name, kStateName));
    }
    state.set(name, value);
  }
}

}  // namespace

void save_checkpoint(const std::filesystem::path& folder, const Checkpoint& checkpoint) {
  AtomicFolder output(folder);
  NamedStates scalars;
  for (const Part& part : kParts) {
    const StateDict& state = checkpoint.*part.state;
    scalars.emplace_back(part.name, state);
    if (part.is_optional && !has_tensors(state)) continue;
    output.write_file(tensor_file_of(part), [&](FileWriter& writer) { write_state_tensors(writer, state); });
  }
  output.write_file(kStateName, [&](FileWriter& writer) { writer.write(scalars_to_json(scalars, writer.path())); });
  output.commit();
}

Checkpoint load_checkpoint(const std::filesystem::path& wanted_folder) {
  const std::filesystem::path folder = find_folder(wanted_folder);
  const Manifest manifest = verify_folder(folder);
  Checkpoint checkpoint;
  for (const Part& part : kParts) {
    const std::string name = tensor_file_of(part);
    if (part.is_optional && !manifest.contains(name)) continue;
    check_listed(manifest, name, folder);
    checkpoint.*part.state = read_state_tensors(folder / name);
  }
  check_listed(manifest, kStateName, folder);
  const std::filesystem::path state_file = folder / kStateName;
  for (const auto& [name, scalars] : scalars_from_json(read_text_file(state_file), state_file)) {
    const auto part = std::find_if(kParts.begin(), kParts.end(),
                                   [&, &wanted = name](const Part& candidate) { return candidate.name == wanted; });
    if (part == kParts.end()) {
      throw CheckpointError(fmt::format("[Checkpoint] {}: unknown part \"{}\".", state_file.string(), name));
    }
    add_scalars(checkpoint.*(part->state), scalars, folder);
  }
  return checkpoint;
}

StateDict load_run_scalars(const std::filesystem::path& wanted_folder) {
  const std::filesystem::path folder = find_folder(wanted_folder);
  check_listed(read_manifest(folder), kStateName, folder);
  const std::filesystem::path file = folder / kStateName;
  for (auto& [name, scalars] : scalars_from_json(read_text_file(file), file)) {
    if (name == "run") return std::move(scalars);
  }
  throw CheckpointError(fmt::format("[Checkpoint] {}: there is no part \"run\".", file.string()));
}

}  // namespace levin
