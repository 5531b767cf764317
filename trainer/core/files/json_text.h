#pragma once

#include <nlohmann/json.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace levin {

/// A parsed JSON object, with the order in which its keys stood.
struct JsonObject {
  nlohmann::json value;
  std::vector<std::string> keys;
};

/// Parses the JSON text of `file`, strictly: one object and nothing else, no key twice in any object, valid UTF-8,
/// nested at most 16 deep. Errors: CheckpointError that names the file.
JsonObject parse_json_object(const std::string& text, const std::filesystem::path& file);

/// As above; the objects keep the order of their keys, at quadratic cost in their number.
nlohmann::ordered_json parse_ordered_json_object(const std::string& text, const std::filesystem::path& file);

/// The content of a small text file. Errors: CheckpointError if it cannot be read or is larger than 256 MiB.
std::string read_text_file(const std::filesystem::path& file);

}  // namespace levin
