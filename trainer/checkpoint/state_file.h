#pragma once

#include <filesystem>

#include "trainer/core/files/file_writer.h"
#include "trainer/core/state_dict.h"

namespace levin {

/// Writes the tensors of `state`, and nothing else of it, as a safetensors file. Tied tensors (see find_ties) are
/// written once, under the first of their names; each further name is kept in the metadata as "<name>" -> "<first
/// name>", as Python's safetensors.torch.save_model does. Errors: CheckpointError as write_safetensors.
void write_state_tensors(FileWriter& writer, const StateDict& state);

/// The tensors of a safetensors file in the order of its header, then the names that its metadata tie to one of them,
/// with the same tensor. Also for files that Python wrote, with or without metadata.
/// Errors: CheckpointError as SafetensorsFile.
StateDict read_state_tensors(const std::filesystem::path& file);

}  // namespace levin
