#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace levin {

/// The form of a duration in options, for error texts.
inline constexpr std::string_view kDurationForm =
    "\"DD:HH:MM:SS\" (days, hours, minutes, seconds) or a number with a unit: 90s, 10m, 2h, 1.5d";

/// "01:12:30:00" (days, hours, minutes and seconds; all but the days have two digits), or a number >= 0 with one of the
/// units s, m, h and d: "90s", "10m", "2h", "1.5d". Blanks around it are ignored. nullopt if it is neither.
std::optional<std::chrono::duration<double>> try_parse_duration(std::string_view text);

/// The same. Errors: ConfigError if it is neither; the text names the value and the form.
std::chrono::duration<double> parse_duration(std::string_view text);

}  // namespace levin
