#include "trainer/checkpoint/state_json.h"

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "trainer/core/error.h"
#include "trainer/core/files/json_text.h"

namespace levin {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kFormat = 1;

bool is_utf8(const std::string& text) {
  try {
    (void)Json(text).dump();
    return true;
  } catch (const Json::type_error&) {
    return false;
  }
}

// Adds a value to `object` under `name`; tensors are left out.
struct ScalarEncoder {
  const std::string& name;
  Json& object;

  void operator()(const at::Tensor& /*tensor*/) const {}
  void operator()(int64_t value) const { object[name] = value; }
  void operator()(double value) const {
    if (std::isfinite(value)) {
      object[name] = value;
    } else {
      object[name] = Json::object({{"f64", fmt::format("{:016x}", std::bit_cast<uint64_t>(value))}});
    }
  }
  void operator()(const std::string& value) const {
    if (is_utf8(value)) {
      object[name] = value;
      return;
    }
    std::string digits;
    for (const char byte : value) digits += fmt::format("{:02x}", static_cast<unsigned char>(byte));
    object[name] = Json::object({{"bytes", digits}});
  }
};

// All of `digits` as a hexadecimal number.
template <class T>
std::optional<T> parse_hex(std::string_view digits) {
  T value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

std::optional<std::string> parse_bytes(const std::string& digits) {
  if (digits.size() % 2 != 0) return std::nullopt;
  std::string bytes;
  for (size_t i = 0; i < digits.size(); i += 2) {
    const auto byte = parse_hex<unsigned char>(std::string_view(digits).substr(i, 2));
    if (!byte) return std::nullopt;
    bytes += static_cast<char>(*byte);
  }
  return bytes;
}

std::optional<StateDict::Value> decode_object(const Json& json) {
  if (json.size() != 1 || !json.front().is_string()) return std::nullopt;
  const auto& digits = json.front().get_ref<const std::string&>();
  if (json.contains("f64") && digits.size() == 16) {
    if (const auto bits = parse_hex<uint64_t>(digits)) return std::bit_cast<double>(*bits);
  }
  if (json.contains("bytes")) {
    if (auto bytes = parse_bytes(digits)) return *std::move(bytes);
  }
  return std::nullopt;
}

std::optional<StateDict::Value> decode(const Json& json) {
  if (json.is_object()) return decode_object(json);
  if (json.is_string()) return json.get<std::string>();
  if (json.is_number_float()) return json.get<double>();
  constexpr uint64_t kMax = std::numeric_limits<int64_t>::max();
  const bool fits = json.is_number_integer() && (!json.is_number_unsigned() || json.get<uint64_t>() <= kMax);
  if (fits) return json.get<int64_t>();
  return std::nullopt;
}

}  // namespace

std::string scalars_to_json(const NamedStates& states, const std::filesystem::path& file) {
  Json json;
  json["format"] = kFormat;
  for (const auto& [state_name, state] : states) {
    Json& object = json[state_name] = Json::object();
    for (const auto& [name, value] : state) std::visit(ScalarEncoder{name, object}, value);
  }
  try {
    return json.dump(2) + "\n";
  } catch (const Json::type_error& error) {
    throw CheckpointError(fmt::format("[Checkpoint] cannot write {}: the name of an entry is not UTF-8: {}",
                                      file.string(), error.what()));
  }
}

NamedStates scalars_from_json(const std::string& text, const std::filesystem::path& file) {
  const Json json = parse_ordered_json_object(text, file);
  const auto refuse = [&](const std::string& problem) {
    throw CheckpointError(fmt::format("[Checkpoint] {}: {}.", file.string(), problem));
  };
  if (!json.contains("format") || json["format"] != kFormat) {
    refuse(fmt::format("\"format\" must be {}, got {}", kFormat,
                       json.contains("format") ? json["format"].dump() : "nothing"));
  }
  NamedStates states;
  for (const auto& [state_name, object] : json.items()) {
    if (state_name == "format") continue;
    if (!object.is_object()) refuse(fmt::format("\"{}\" must be an object, got {}", state_name, object.dump()));
    StateDict state;
    for (const auto& [name, encoded] : object.items()) {
      auto value = decode(encoded);
      if (!value) refuse(fmt::format("\"{}\" of \"{}\" is no saved value: {}", name, state_name, encoded.dump()));
      state.set(name, *std::move(value));
    }
    states.emplace_back(state_name, std::move(state));
  }
  return states;
}

}  // namespace levin
