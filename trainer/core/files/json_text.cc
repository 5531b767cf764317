#include "trainer/core/files/json_text.h"

#include <fmt/format.h>

#include <set>

#include "trainer/core/error.h"
#include "trainer/core/files/posix_file.h"

namespace levin {
namespace {

constexpr int kMaxDepth = 16;
constexpr uint64_t kMaxTextBytes = uint64_t{256} << 20;

// Parses, refuses doubled keys and deep nesting, and collects the keys of the outermost object in order.
template <class Json>
Json parse(const std::string& text, const std::filesystem::path& file, std::vector<std::string>& outer_keys) {
  using Event = typename Json::parse_event_t;
  std::vector<std::set<std::string>> keys_of_open_objects;
  const auto observe = [&](int depth, Event event, Json& parsed) {
    if (depth > kMaxDepth) {
      throw CheckpointError(
          fmt::format("[Checkpoint] {}: the JSON is nested more than {} deep.", file.string(), kMaxDepth));
    }
    if (event == Event::object_start) keys_of_open_objects.emplace_back();
    if (event == Event::object_end) keys_of_open_objects.pop_back();
    if (event == Event::key) {
      const auto& key = parsed.template get_ref<const std::string&>();
      if (!keys_of_open_objects.back().insert(key).second) {
        throw CheckpointError(fmt::format("[Checkpoint] {}: the JSON has the key \"{}\" twice.", file.string(), key));
      }
      if (keys_of_open_objects.size() == 1) outer_keys.push_back(key);
    }
    return true;
  };
  // The parser takes a zero byte for the end of the text.
  if (const size_t zero = text.find('\0'); zero != std::string::npos) {
    throw CheckpointError(fmt::format("[Checkpoint] {}: invalid JSON: byte {} is zero.", file.string(), zero));
  }
  Json result;
  try {
    result = Json::parse(text, observe);
  } catch (const typename Json::exception& error) {
    throw CheckpointError(fmt::format("[Checkpoint] {}: invalid JSON: {}", file.string(), error.what()));
  }
  if (!result.is_object()) {
    throw CheckpointError(
        fmt::format("[Checkpoint] {}: the JSON must be an object, got {}.", file.string(), result.type_name()));
  }
  return result;
}

}  // namespace

JsonObject parse_json_object(const std::string& text, const std::filesystem::path& file) {
  JsonObject result;
  result.value = parse<nlohmann::json>(text, file, result.keys);
  return result;
}

nlohmann::ordered_json parse_ordered_json_object(const std::string& text, const std::filesystem::path& file) {
  std::vector<std::string> keys;
  return parse<nlohmann::ordered_json>(text, file, keys);
}

std::string read_text_file(const std::filesystem::path& file) {
  const FileDescriptor opened = open_for_reading(file);
  const uint64_t size = file_size(opened, file);
  if (size > kMaxTextBytes) {
    throw CheckpointError(fmt::format("[Checkpoint] {} has {} bytes, more than the {} allowed for a JSON file.",
                                      file.string(), size, kMaxTextBytes));
  }
  std::string text(size, '\0');
  read_at(opened, file, 0, text.data(), size);
  return text;
}

}  // namespace levin
