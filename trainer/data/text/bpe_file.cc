#include "trainer/data/text/bpe_file.h"

#include <fmt/format.h>

#include <array>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "trainer/core/error.h"
#include "trainer/core/files/file_writer.h"
#include "trainer/data/text/utf8_chars.h"

namespace levin {

const char* const kByteLevelPattern = R"('(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

namespace {

using Json = nlohmann::json;

constexpr int64_t kLargestId = (int64_t{1} << 24) - 1;  // a table has a row for each number up to the largest
constexpr size_t kLongestShown = 80;

/// ByteLevel writes each byte as a character that can be seen: those of Latin-1 that are visible stand for themselves,
/// the others in their order for U+0100 and up. nullopt if the text has other characters.
std::optional<std::string> bytes_of(std::string_view text) {
  static const std::unordered_map<std::string, char> table = [] {
    std::unordered_map<std::string, char> bytes;
    uint32_t next = 0x100;
    for (uint32_t byte = 0; byte < 256; ++byte) {
      const bool is_visible = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
      const uint32_t code = is_visible ? byte : next++;
      std::string character;
      if (code < 0x80) {
        character = static_cast<char>(code);
      } else {
        character = {static_cast<char>(0xC0u | code >> 6), static_cast<char>(0x80u | (code & 0x3Fu))};
      }
      bytes.emplace(character, static_cast<char>(byte));
    }
    return bytes;
  }();
  std::string bytes;
  while (!text.empty()) {
    const size_t size = utf8_char_size(text);
    const auto found = table.find(std::string(text.substr(0, size)));
    if (size == 0 || found == table.end()) return std::nullopt;
    bytes.push_back(found->second);
    text.remove_prefix(size);
  }
  return bytes;
}

class BpeFileReader {
 public:
  explicit BpeFileReader(const std::filesystem::path& path) : path_(path) {}

  BpeFile read() {
    const std::string text = read_text();
    try {
      root_ = Json::parse(text);
    } catch (const Json::exception& error) {
      throw DataError(fmt::format("[BpeTokenizer] {} is no JSON: {}.", path_.string(), error.what()));
    }
    if (!root_.is_object() || !root_.contains("model")) {
      throw DataError(
          fmt::format("[BpeTokenizer] {} is no tokenizer.json: it has no field \"model\". GPT-2's vocab.json "
                      "and merges.txt are not read; save the tokenizer as tokenizer.json.",
                      path_.string()));
    }
    Checksum checksum;
    checksum.update(text.data(), text.size());
    file_.checksum = checksum.hex();
    read_model();
    read_normalizer();
    read_pre_tokenizer();
    read_decoder();
    read_added_tokens();
    return std::move(file_);
  }

 private:
  std::string read_text() const {
    std::ifstream stream(path_, std::ios::binary);
    if (!std::filesystem::is_regular_file(path_) || !stream) {
      throw DataError(fmt::format("[BpeTokenizer] cannot read the tokenizer {}: it is missing, or no readable file.",
                                  path_.string()));
    }
    return std::string(std::istreambuf_iterator<char>(stream), {});
  }

  [[noreturn]] void fail(const std::string& field, const std::string& rule, const Json& value) const {
    std::string shown = value.dump(-1, ' ', false, Json::error_handler_t::replace);
    if (shown.size() > kLongestShown) shown = shown.substr(0, kLongestShown) + "...";
    throw DataError(fmt::format("[BpeTokenizer] {}: {} {}, got {}.", path_.string(), field, rule, shown));
  }

  static const Json& get(const Json& object, const std::string& key) {
    static const Json null;
    const auto found = object.is_object() ? object.find(key) : object.end();
    return found == object.end() ? null : *found;
  }

  bool get_bool(const Json& object, const std::string& key, bool otherwise, const std::string& where) const {
    const Json& value = get(object, key);
    if (value.is_null()) return otherwise;
    if (!value.is_boolean()) fail(where + "." + key, "must be true or false", value);
    return value.get<bool>();
  }

  uint32_t get_id(const Json& value, const std::string& field) const {
    if (!value.is_number_integer() || value.get<int64_t>() < 0 || value.get<int64_t>() > kLargestId) {
      fail(field, fmt::format("must be a number in [0, {}]", kLargestId), value);
    }
    return value.get<uint32_t>();
  }

  void read_model() {
    const Json& model = root_["model"];
    const Json& type = get(model, "type");
    // Old files name no type.
    if (!model.is_object() || (type != "BPE" && !(type.is_null() && model.contains("merges")))) {
      fail("model.type", "must be \"BPE\"", type);
    }
    const Json& dropout = get(model, "dropout");
    if (!dropout.is_null() && dropout != 0.0)
      fail("model.dropout", "must be null: random merges are not supported", dropout);
    for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
      const Json& value = get(model, key);
      if (!value.is_null() && value != "") fail(fmt::format("model.{}", key), "must be null or empty", value);
    }
    if (get_bool(model, "byte_fallback", false, "model")) {
      fail("model.byte_fallback", "must be false: only byte-level BPE is supported", true);
    }
    // unk_token and fuse_unk have no effect: read_vocab() makes sure that no byte is unknown.
    file_.ignores_merges = get_bool(model, "ignore_merges", false, "model");
    read_vocab(get(model, "vocab"));
    read_merges(get(model, "merges"));
  }

  void read_vocab(const Json& vocab) {
    if (!vocab.is_object() || vocab.empty()) fail("model.vocab", "must be a map of tokens to numbers", vocab);
    std::unordered_map<uint32_t, std::string> texts;
    std::array<bool, 256> has_byte{};
    for (const auto& [text, value] : vocab.items()) {
      const uint32_t id = get_id(value, fmt::format("model.vocab[\"{}\"]", text));
      const auto [other, is_new] = texts.emplace(id, text);
      if (!is_new)
        fail(fmt::format("model.vocab[\"{}\"]", text), "must differ from that of \"" + other->second + "\"", id);
      ids_.emplace(text, id);
      // What is not in ByteLevel's alphabet is a special token; no piece of text becomes it.
      const std::string bytes = bytes_of(text).value_or("");
      if (bytes.empty()) continue;
      if (bytes.size() == 1) has_byte[static_cast<unsigned char>(bytes[0])] = true;
      file_.vocab.emplace_back(bytes, id);
    }
    for (size_t byte = 0; byte < has_byte.size(); ++byte) {
      if (has_byte[byte]) continue;
      throw DataError(fmt::format(
          "[BpeTokenizer] {}: model.vocab must have all 256 bytes, but byte {} is missing, so that some text would be "
          "lost. Train the tokenizer with initial_alphabet=pre_tokenizers.ByteLevel.alphabet().",
          path_.string(), byte));
    }
  }

  uint32_t id_of(const std::string& text, const std::string& field, const Json& merge) const {
    const auto found = ids_.find(text);
    if (found == ids_.end())
      fail(field, fmt::format("needs the token \"{}\", which model.vocab does not have", text), merge);
    return found->second;
  }

  void read_merges(const Json& merges) {
    if (!merges.is_array()) fail("model.merges", "must be a list", merges);
    file_.merges.reserve(merges.size());
    for (const Json& merge : merges) {
      const std::string field = fmt::format("model.merges[{}]", file_.merges.size());
      std::string left;
      std::string right;
      if (merge.is_string()) {
        const auto& text = merge.get_ref<const std::string&>();
        const size_t space = text.find(' ');
        left = text.substr(0, space);
        right = space == std::string::npos ? "" : text.substr(space + 1);
      } else if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
        left = merge[0];
        right = merge[1];
      }
      if (left.empty() || right.empty()) fail(field, "must be \"a b\" or [\"a\", \"b\"]", merge);
      file_.merges.push_back({.left = id_of(left, field, merge),
                              .right = id_of(right, field, merge),
                              .merged = id_of(left + right, field, merge)});
    }
  }

  void read_normalizer() {
    const Json& normalizer = get(root_, "normalizer");
    if (normalizer.is_null()) return;
    const Json* one = &normalizer;
    // A list of one, or of none, is the same.
    if (get(normalizer, "type") == "Sequence" && get(normalizer, "normalizers").is_array()) {
      const Json& list = get(normalizer, "normalizers");
      if (list.empty()) return;
      if (list.size() == 1) one = &list[0];
    }
    if (get(*one, "type") != "NFC") fail("normalizer", "must be null or NFC", normalizer);
    file_.uses_nfc = true;
  }

  void read_pre_tokenizer() {
    const Json& top = get(root_, "pre_tokenizer");
    const char* const rule = "must be ByteLevel, or a Sequence of Split and ByteLevel";
    const Json* byte_level = &top;
    if (get(top, "type") == "Sequence") {
      const Json& list = get(top, "pretokenizers");
      if (!list.is_array() || list.empty() || list.size() > 2) fail("pre_tokenizer", rule, top);
      byte_level = &list.back();
      if (list.size() == 2) read_split(list[0]);
    }
    if (get(*byte_level, "type") != "ByteLevel") fail("pre_tokenizer", rule, top);
    file_.adds_prefix_space = get_bool(*byte_level, "add_prefix_space", true, "pre_tokenizer");
    const bool uses_regex = get_bool(*byte_level, "use_regex", true, "pre_tokenizer");
    if (!file_.split_pattern.empty() && (uses_regex || file_.adds_prefix_space)) {
      fail("pre_tokenizer", "must have use_regex and add_prefix_space false behind a Split", top);
    }
    if (uses_regex) file_.split_pattern = kByteLevelPattern;
  }

  void read_split(const Json& split) {
    const Json& regex = get(get(split, "pattern"), "Regex");
    if (get(split, "type") != "Split" || !regex.is_string() || regex == "") {
      fail("pre_tokenizer", "must begin with a Split by a Regex, or be ByteLevel alone", split);
    }
    if (get(split, "behavior") != "Isolated")
      fail("pre_tokenizer.behavior", "must be \"Isolated\"", get(split, "behavior"));
    if (get_bool(split, "invert", false, "pre_tokenizer")) fail("pre_tokenizer.invert", "must be false", true);
    file_.split_pattern = regex.get<std::string>();
  }

  void read_decoder() const {
    const Json& decoder = get(root_, "decoder");
    if (!decoder.is_null() && get(decoder, "type") != "ByteLevel") {
      fail("decoder", "must be null or ByteLevel", decoder);
    }
  }

  void read_added_tokens() {
    const Json& tokens = get(root_, "added_tokens");
    if (tokens.is_null()) return;
    if (!tokens.is_array()) fail("added_tokens", "must be a list", tokens);
    for (const Json& token : tokens) {
      const std::string field = fmt::format("added_tokens[{}]", file_.added_tokens.size());
      const Json& content = get(token, "content");
      if (!content.is_string() || content == "") fail(field + ".content", "must be a text", content);
      for (const char* key : {"single_word", "lstrip", "rstrip"}) {
        if (get_bool(token, key, false, field)) fail(fmt::format("{}.{}", field, key), "must be false", token);
      }
      file_.added_tokens.push_back({.content = content.get<std::string>(),
                                    .id = get_id(get(token, "id"), field + ".id"),
                                    .is_normalized = get_bool(token, "normalized", true, field)});
    }
  }

  std::filesystem::path path_;
  Json root_;
  std::unordered_map<std::string, uint32_t> ids_;  // of the vocabulary, as the file writes it
  BpeFile file_;
};

}  // namespace

BpeFile read_bpe_file(const std::filesystem::path& path) { return BpeFileReader(path).read(); }

}  // namespace levin
