#include "trainer/checkpoint/manifest.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "trainer/core/error.h"
#include "trainer/core/files/json_text.h"

namespace levin {
namespace {

constexpr int64_t kFormat = 1;

[[noreturn]] void refuse(const std::filesystem::path& file, const std::string& problem) {
  throw CheckpointError(fmt::format("[Checkpoint] {}: {}.", file.string(), problem));
}

// A manifest must not lead out of its folder.
bool is_plain_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos &&
         name.find('\0') == std::string::npos;
}

FileDigest parse_digest(const std::filesystem::path& file, const std::string& name, const nlohmann::json& entry) {
  if (!is_plain_name(name)) refuse(file, fmt::format("\"{}\" is not the name of a file in this folder", name));
  if (!entry.is_object() || !entry.contains("size") || !entry.contains("xxh3_64") ||
      !entry["size"].is_number_unsigned() || !entry["xxh3_64"].is_string()) {
    refuse(file, fmt::format("the entry of \"{}\" must have a size and an xxh3_64, got {}", name, entry.dump()));
  }
  return {.size = entry["size"].get<uint64_t>(), .xxh3_64 = entry["xxh3_64"].get<std::string>()};
}

// What is wrong with a file, or "".
std::string find_problem(const std::filesystem::path& folder, const std::string& name, const FileDigest& expected) {
  const std::filesystem::path file = folder / name;
  std::error_code error;
  if (!std::filesystem::exists(file, error)) return fmt::format("{} is missing", name);
  const uint64_t size = std::filesystem::file_size(file, error);
  if (!error && size != expected.size) return fmt::format("{} has {} bytes, not {}", name, size, expected.size);
  const FileDigest digest = digest_file(file);
  if (digest.xxh3_64 != expected.xxh3_64) {
    return fmt::format("{} has the checksum {}, not {}", name, digest.xxh3_64, expected.xxh3_64);
  }
  return "";
}

}  // namespace

std::string manifest_to_json(const Manifest& manifest) {
  nlohmann::ordered_json json;
  json["format"] = kFormat;
  json["files"] = nlohmann::ordered_json::object();
  for (const auto& [name, digest] : manifest) {
    json["files"][name]["size"] = digest.size;
    json["files"][name]["xxh3_64"] = digest.xxh3_64;
  }
  return json.dump(2) + "\n";
}

Manifest read_manifest(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / kManifestName;
  std::error_code ignored;
  if (!std::filesystem::is_directory(folder, ignored)) {
    throw CheckpointError(fmt::format("[Checkpoint] there is no folder {}.", folder.string()));
  }
  if (!std::filesystem::exists(file, ignored)) {
    refuse(folder, fmt::format("{} is missing, so this is not a complete checkpoint", kManifestName));
  }
  const nlohmann::json json = parse_json_object(read_text_file(file), file).value;
  if (!json.contains("format") || json["format"] != kFormat) {
    refuse(file, fmt::format("\"format\" must be {}, got {}", kFormat,
                             json.contains("format") ? json["format"].dump() : "nothing"));
  }
  if (!json.contains("files") || !json["files"].is_object()) refuse(file, "the object \"files\" is missing");
  Manifest manifest;
  for (const auto& [name, entry] : json["files"].items()) manifest[name] = parse_digest(file, name, entry);
  return manifest;
}

Manifest verify_folder(const std::filesystem::path& folder) {
  Manifest manifest = read_manifest(folder);
  std::vector<std::string> problems;
  for (const auto& [name, digest] : manifest) {
    if (std::string problem = find_problem(folder, name, digest); !problem.empty()) {
      problems.push_back(std::move(problem));
    }
  }
  if (!problems.empty()) {
    refuse(folder, fmt::format("the checkpoint is damaged: {}", fmt::join(problems, "; ")));
  }
  return manifest;
}

}  // namespace levin
