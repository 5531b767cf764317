#pragma once

#include <string>
#include <string_view>

namespace levin {

/// `text` with U+FFFD in the place of what is not UTF-8.
std::string to_utf8(std::string_view text);

}  // namespace levin
