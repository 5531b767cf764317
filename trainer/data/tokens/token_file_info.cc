#include "trainer/data/tokens/token_file_info.h"

#include <fmt/format.h>

#include <limits>

#include "trainer/core/error.h"
#include "trainer/core/files/json_text.h"
#include "trainer/core/files/whole_file.h"

namespace levin {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFormat = "levin-tokens";

/// Reads the values of one side file. Errors name it and the key.
class InfoReader {
 public:
  InfoReader(const nlohmann::json& json, const fs::path& file) : json_(json), file_(file) {}

  std::string required_text(const char* key) const {
    if (!json_.contains(key)) fail(key, "a text");
    return text(key);
  }

  std::string text(const char* key) const {
    if (!json_.contains(key)) return "";
    if (!json_[key].is_string()) fail(key, "a text");
    return json_[key].get<std::string>();
  }

  int64_t required_count(const char* key) const {
    const std::optional<int64_t> value = count(key);
    if (!value) fail(key, kIsCount);
    return *value;
  }

  std::optional<int64_t> count(const char* key) const {
    if (!json_.contains(key) || json_[key].is_null()) return std::nullopt;
    const nlohmann::json& value = json_[key];
    // The parser takes what is too large for 64 bits for a floating-point number.
    if (!value.is_number_unsigned() ||
        value.get<uint64_t>() > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      fail(key, kIsCount);
    }
    return value.get<int64_t>();
  }

  [[noreturn]] void fail(const char* key, const std::string& expected) const {
    throw DataError(
        fmt::format("[read_token_file_info] {} is damaged: \"{}\" must be {}, got {}. Write it anew, or remove it and "
                    "give the type of the tokens.",
                    file_.string(), key, expected, json_.contains(key) ? json_[key].dump() : "none"));
  }

 private:
  static constexpr const char* kIsCount = "a whole number >= 0";

  const nlohmann::json& json_;
  const fs::path& file_;
};

TokenFileInfo parse_info(const nlohmann::json& json, const fs::path& file) {
  const InfoReader reader(json, file);
  if (reader.required_text("format") != kFormat) reader.fail("format", fmt::format("\"{}\"", kFormat));
  TokenFileInfo info;
  const std::optional<TokenType> type = token_type_of_name(reader.required_text("type"));
  if (!type) reader.fail("type", "\"uint16\" or \"uint32\"");
  info.type = *type;
  info.num_tokens = reader.required_count("num_tokens");
  info.vocab_size = reader.count("vocab_size").value_or(0);
  info.tokenizer = reader.text("tokenizer");
  info.end_of_text = reader.count("end_of_text");
  return info;
}

}  // namespace

std::string_view token_type_name(TokenType type) { return type == TokenType::kUint16 ? "uint16" : "uint32"; }

std::optional<TokenType> token_type_of_name(std::string_view name) {
  for (const TokenType type : {TokenType::kUint16, TokenType::kUint32}) {
    if (name == token_type_name(type)) return type;
  }
  return std::nullopt;
}

int64_t token_size(TokenType type) { return type == TokenType::kUint16 ? 2 : 4; }

uint32_t largest_token(TokenType type) {
  return type == TokenType::kUint16 ? std::numeric_limits<uint16_t>::max() : std::numeric_limits<uint32_t>::max();
}

TokenType smallest_token_type(int64_t vocab_size) {
  return vocab_size <= int64_t{largest_token(TokenType::kUint16)} + 1 ? TokenType::kUint16 : TokenType::kUint32;
}

fs::path token_file_info_path(const fs::path& token_file) {
  fs::path path = token_file;
  path += ".json";
  return path;
}

std::optional<TokenFileInfo> read_token_file_info(const fs::path& token_file) {
  const fs::path file = token_file_info_path(token_file);
  std::error_code ignored;
  if (!fs::exists(file, ignored)) return std::nullopt;
  nlohmann::json json;
  try {
    json = parse_json_object(read_text_file(file), file).value;
  } catch (const CheckpointError& error) {
    throw DataError(fmt::format("[read_token_file_info] the side file of {} cannot be read: {}", token_file.string(),
                                error.what()));
  }
  return parse_info(json, file);
}

void write_token_file_info(const fs::path& token_file, const TokenFileInfo& info) {
  nlohmann::ordered_json json;
  json["format"] = kFormat;
  json["type"] = token_type_name(info.type);
  json["num_tokens"] = info.num_tokens;
  if (info.vocab_size > 0) json["vocab_size"] = info.vocab_size;
  if (!info.tokenizer.empty()) json["tokenizer"] = info.tokenizer;
  if (info.end_of_text) json["end_of_text"] = *info.end_of_text;
  try {
    const std::string text = json.dump(2) + "\n";
    write_whole_file(token_file_info_path(token_file), [&](FileWriter& writer) { writer.write(text); });
  } catch (const nlohmann::json::exception&) {
    throw ConfigError(
        fmt::format("[write_token_file_info] the tokenizer's name for {} must be valid UTF-8.", token_file.string()));
  } catch (const CheckpointError& error) {
    throw OutputError(fmt::format("[write_token_file_info] {}", error.what()));
  }
}

}  // namespace levin
