#include "trainer/core/duration.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>

#include "trainer/core/error.h"

namespace levin {
namespace {

using Seconds = std::chrono::duration<double>;

constexpr size_t kMaxDigits = 9;  // of the days: more than two million years

bool is_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// "DD:HH:MM:SS"
std::optional<Seconds> parse_fields(std::string_view text) {
  constexpr std::array<int64_t, 4> kSecondsOf = {86400, 3600, 60, 1};
  int64_t seconds = 0;
  for (size_t i = 0; i < kSecondsOf.size(); ++i) {
    const bool is_last = i + 1 == kSecondsOf.size();
    const size_t end = text.find(':');
    if (is_last != (end == std::string_view::npos)) return std::nullopt;
    const std::string_view field = text.substr(0, end);
    if (!is_digits(field) || field.size() > kMaxDigits || (i > 0 && field.size() != 2)) return std::nullopt;
    int64_t value = 0;
    std::from_chars(field.data(), field.data() + field.size(), value);
    seconds += value * kSecondsOf[i];
    if (!is_last) text.remove_prefix(end + 1);
  }
  return Seconds(static_cast<double>(seconds));
}

// "90s"
std::optional<Seconds> parse_with_unit(std::string_view text) {
  if (text.size() < 2) return std::nullopt;
  double seconds_of_unit = 0.0;
  switch (text.back()) {
    case 's': seconds_of_unit = 1.0; break;
    case 'm': seconds_of_unit = 60.0; break;
    case 'h': seconds_of_unit = 3600.0; break;
    case 'd': seconds_of_unit = 86400.0; break;
    default: return std::nullopt;
  }
  text.remove_suffix(1);
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  const bool is_whole = error == std::errc() && end == text.data() + text.size();
  if (!is_whole || !std::isfinite(value) || std::signbit(value)) return std::nullopt;
  return Seconds(value * seconds_of_unit);
}

}  // namespace

std::optional<Seconds> try_parse_duration(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  text = text.substr(0, text.find_last_not_of(kBlanks) + 1);
  return text.find(':') == std::string_view::npos ? parse_with_unit(text) : parse_fields(text);
}

Seconds parse_duration(std::string_view text) {
  const std::optional<Seconds> duration = try_parse_duration(text);
  if (!duration) {
    throw ConfigError(fmt::format("[parse_duration] a duration must be {}, got \"{}\".", kDurationForm, text));
  }
  return *duration;
}

}  // namespace levin
