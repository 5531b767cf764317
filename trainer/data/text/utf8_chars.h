#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace levin {

/// Bytes of the character that `text` begins with, 1 to 4; 0 if it begins with none (Unicode's table 3-7: no overlong
/// forms, no surrogates, at most U+10FFFF).
size_t utf8_char_size(std::string_view text);
/// Bytes at the beginning of `text` that are UTF-8.
size_t utf8_prefix_size(std::string_view text);
/// The character before `end` is one, and no white space. False at the beginning and after what is no UTF-8.
bool has_non_space_before(std::string_view text, size_t end);
/// `text` begins with a character that is no white space.
bool begins_with_non_space(std::string_view text);

/// Unicode's normalization form C of each stretch of `text` that is UTF-8; other bytes stay.
std::string normalize_nfc(std::string_view text);

}  // namespace levin
