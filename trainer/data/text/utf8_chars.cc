#include "trainer/data/text/utf8_chars.h"

#include <fmt/format.h>
#include <utf8proc.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "trainer/core/error.h"

namespace levin {
namespace {

uint32_t byte_at(std::string_view text, size_t index) { return static_cast<unsigned char>(text[index]); }

bool is_continuation(uint32_t byte) { return (byte & 0xC0u) == 0x80u; }

/// `text` begins with a character.
uint32_t decode(std::string_view text, size_t size) {
  uint32_t code = byte_at(text, 0);
  if (size == 1) return code;
  code &= 0x7Fu >> size;
  for (size_t i = 1; i < size; ++i) code = code << 6 | (byte_at(text, i) & 0x3Fu);
  return code;
}

// The property White_Space.
bool is_white_space(uint32_t code) {
  return (code >= 0x09 && code <= 0x0D) || code == 0x20 || code == 0x85 || code == 0xA0 || code == 0x1680 ||
         (code >= 0x2000 && code <= 0x200A) || code == 0x2028 || code == 0x2029 || code == 0x202F || code == 0x205F ||
         code == 0x3000;
}

/// Bytes at the beginning that are ASCII, in whole words of eight.
size_t ascii_prefix_size(std::string_view text) {
  size_t done = 0;
  for (; done + sizeof(uint64_t) <= text.size(); done += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, text.data() + done, sizeof(word));
    if ((word & 0x8080808080808080u) != 0) break;
  }
  return done;
}

void append_nfc(std::string_view text, std::string& out) {
  utf8proc_uint8_t* result = nullptr;
  const utf8proc_ssize_t size =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()), static_cast<utf8proc_ssize_t>(text.size()),
                   &result, static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(result, &std::free);
  if (size < 0) {
    throw DataError(
        fmt::format("[Tokenizer] a text of {} bytes cannot be normalized: {}.", text.size(), utf8proc_errmsg(size)));
  }
  out.append(reinterpret_cast<const char*>(result), static_cast<size_t>(size));
}

}  // namespace

size_t utf8_char_size(std::string_view text) {
  if (text.empty()) return 0;
  const uint32_t first = byte_at(text, 0);
  if (first < 0x80) return 1;
  if (first < 0xC2 || first > 0xF4) return 0;
  const size_t size = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  if (text.size() < size) return 0;
  const uint32_t second = byte_at(text, 1);
  const uint32_t lowest = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  const uint32_t highest = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  if (second < lowest || second > highest) return 0;
  for (size_t i = 2; i < size; ++i) {
    if (!is_continuation(byte_at(text, i))) return 0;
  }
  return size;
}

size_t utf8_prefix_size(std::string_view text) {
  size_t done = 0;
  while (done < text.size()) {
    done += ascii_prefix_size(text.substr(done));
    // Up to the next word, so that text with few other characters is fast too.
    for (int i = 0; i < 8 && done < text.size(); ++i) {
      const size_t size = utf8_char_size(text.substr(done));
      if (size == 0) return done;
      done += size;
    }
  }
  return done;
}

bool has_non_space_before(std::string_view text, size_t end) {
  size_t begin = end;
  while (begin > 0 && end - begin < 4) {
    --begin;
    if (!is_continuation(byte_at(text, begin))) break;
  }
  const std::string_view last = text.substr(begin, end - begin);
  return !last.empty() && utf8_char_size(last) == last.size() && !is_white_space(decode(last, last.size()));
}

bool begins_with_non_space(std::string_view text) {
  const size_t size = utf8_char_size(text);
  return size > 0 && !is_white_space(decode(text, size));
}

std::string normalize_nfc(std::string_view text) {
  // Every text without characters from U+0300 on, whose first byte is 0xCC or more, is in this form.
  const auto is_low = [](char byte) { return static_cast<unsigned char>(byte) < 0xCC; };
  if (std::all_of(text.begin(), text.end(), is_low)) return std::string(text);
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const size_t valid = utf8_prefix_size(text);
    if (valid > 0) append_nfc(text.substr(0, valid), out);
    if (valid < text.size()) out.push_back(text[valid]);
    text.remove_prefix(std::min(valid + 1, text.size()));
  }
  return out;
}

}  // namespace levin
