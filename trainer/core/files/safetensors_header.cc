#include "trainer/core/files/safetensors_header.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "trainer/core/error.h"
#include "trainer/core/files/json_text.h"
#include "trainer/core/files/safetensors_dtype.h"

namespace levin {
namespace {

using Json = nlohmann::json;

constexpr size_t kMaxDims = 64;

[[noreturn]] void refuse(const std::filesystem::path& file, const std::string& problem) {
  throw CheckpointError(fmt::format("[Safetensors] {}: {}.", file.string(), problem));
}

[[noreturn]] void refuse(const std::filesystem::path& file, const std::string& name, const std::string& problem) {
  refuse(file, fmt::format("the tensor \"{}\": {}", name, problem));
}

SafetensorsMetadata parse_metadata(const Json& json, const std::filesystem::path& file) {
  SafetensorsMetadata metadata;
  if (json.is_null()) return metadata;
  if (!json.is_object()) refuse(file, fmt::format("__metadata__ must be an object, got {}", json.dump()));
  for (const auto& [key, value] : json.items()) {
    if (!value.is_string()) {
      refuse(file, fmt::format("the metadata \"{}\" must be a text, got {}", key, value.dump()));
    }
    metadata[key] = value.get<std::string>();
  }
  return metadata;
}

// Parses one entry; its offsets still count from the beginning of the data.
class EntryParser {
 public:
  EntryParser(const std::filesystem::path& file, const std::string& name, const Json& json)
      : file_(file), name_(name), json_(json) {}

  SafetensorsEntry parse() const {
    if (!json_.is_object()) refuse(file_, name_, fmt::format("its entry must be an object, got {}", json_.dump()));
    const std::vector<int64_t> offsets = integers("data_offsets");
    if (offsets.size() != 2) {
      refuse(file_, name_, fmt::format("data_offsets must be two numbers, got [{}]", fmt::join(offsets, ", ")));
    }
    SafetensorsEntry entry{.name = name_,
                           .dtype = dtype(),
                           .shape = integers("shape"),
                           .begin = static_cast<uint64_t>(offsets[0]),
                           .end = static_cast<uint64_t>(offsets[1])};
    check_size(entry);
    return entry;
  }

 private:
  const Json& field(const char* key) const {
    const auto found = json_.find(key);
    if (found == json_.end()) refuse(file_, name_, fmt::format("its entry has no \"{}\"", key));
    return *found;
  }

  at::ScalarType dtype() const {
    const Json& json = field("dtype");
    const auto known = json.is_string() ? dtype_of_safetensors_name(json.get_ref<const std::string&>()) : std::nullopt;
    if (!known) refuse(file_, name_, fmt::format("unknown dtype {}", json.dump()));
    return *known;
  }

  std::vector<int64_t> integers(const char* key) const {
    const Json& json = field(key);
    if (!json.is_array()) refuse(file_, name_, fmt::format("{} must be a list, got {}", key, json.dump()));
    std::vector<int64_t> result;
    for (const Json& number : json) {
      constexpr uint64_t kMax = std::numeric_limits<int64_t>::max();
      if (!number.is_number_unsigned() || number.get<uint64_t>() > kMax) {
        refuse(file_, name_, fmt::format("{} must hold integers from 0 to 2^63 - 1, got {}", key, number.dump()));
      }
      result.push_back(number.get<int64_t>());
    }
    return result;
  }

  void check_size(const SafetensorsEntry& entry) const {
    const auto shape = fmt::format("[{}]", fmt::join(entry.shape, ", "));
    if (entry.shape.size() > kMaxDims) {
      refuse(file_, name_, fmt::format("{} dimensions, more than {}", entry.shape.size(), kMaxDims));
    }
    // An empty dimension counts as 1 here, because LibTorch computes the strides so.
    int64_t num_bytes = static_cast<int64_t>(c10::elementSize(entry.dtype));
    bool is_empty = false;
    for (const int64_t size : entry.shape) {
      is_empty = is_empty || size == 0;
      if (__builtin_mul_overflow(num_bytes, std::max<int64_t>(size, 1), &num_bytes)) {
        refuse(file_, name_, fmt::format("the shape {} is too large", shape));
      }
    }
    if (is_empty) num_bytes = 0;
    if (entry.end < entry.begin || entry.end - entry.begin != static_cast<uint64_t>(num_bytes)) {
      refuse(file_, name_,
             fmt::format("data_offsets [{}, {}] do not fit {} {}, which needs {} bytes", entry.begin, entry.end,
                         *safetensors_name(entry.dtype), shape, num_bytes));
    }
  }

  const std::filesystem::path& file_;
  const std::string& name_;
  const Json& json_;
};

// The tensors must cover the data without gap or overlap, and end with the file.
void check_coverage(const std::vector<SafetensorsEntry>& entries, const std::filesystem::path& file,
                    uint64_t num_data_bytes) {
  std::vector<const SafetensorsEntry*> sorted;
  sorted.reserve(entries.size());
  for (const SafetensorsEntry& entry : entries) sorted.push_back(&entry);
  std::sort(sorted.begin(), sorted.end(), [](const SafetensorsEntry* a, const SafetensorsEntry* b) {
    return std::pair(a->begin, a->end) < std::pair(b->begin, b->end);
  });
  uint64_t covered = 0;
  for (const SafetensorsEntry* entry : sorted) {
    const auto offsets = fmt::format("data_offsets [{}, {}]", entry->begin, entry->end);
    if (entry->end > num_data_bytes) {
      refuse(file, entry->name, fmt::format("{} lie outside of the {} bytes of data", offsets, num_data_bytes));
    }
    if (entry->begin < covered) {
      refuse(file, entry->name, fmt::format("{} overlap the tensor before, which ends at {}", offsets, covered));
    }
    if (entry->begin > covered) {
      refuse(file, entry->name, fmt::format("{} leave a gap: the tensor before ends at {}", offsets, covered));
    }
    covered = entry->end;
  }
  if (covered != num_data_bytes) {
    refuse(file, fmt::format("{} bytes follow the last tensor, which ends at {}", num_data_bytes - covered, covered));
  }
}

}  // namespace

SafetensorsHeader parse_safetensors_header(const std::string& text, const std::filesystem::path& file,
                                           uint64_t data_begin, uint64_t file_size) {
  const JsonObject json = parse_json_object(text, file);
  SafetensorsHeader header;
  for (const std::string& key : json.keys) {
    const Json& value = json.value.at(key);
    if (key == "__metadata__") {
      header.metadata = parse_metadata(value, file);
    } else {
      header.entries.push_back(EntryParser(file, key, value).parse());
    }
  }
  check_coverage(header.entries, file, file_size - data_begin);
  for (SafetensorsEntry& entry : header.entries) {
    entry.begin += data_begin;
    entry.end += data_begin;
  }
  return header;
}

}  // namespace levin
