#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "trainer/core/files/safetensors.h"

namespace levin {

/// What the header of a safetensors file says.
struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries = {};
  SafetensorsMetadata metadata = {};
};

/// Parses and checks the JSON header of `file`, which has `file_size` bytes, of which the tensors' data begin at
/// `data_begin`. Errors: as SafetensorsFile.
SafetensorsHeader parse_safetensors_header(const std::string& text, const std::filesystem::path& file,
                                           uint64_t data_begin, uint64_t file_size);

}  // namespace levin
