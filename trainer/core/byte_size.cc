#include "trainer/core/byte_size.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <utility>

namespace levin {
namespace {

constexpr std::array<std::pair<std::string_view, double>, 9> kUnits = {{{"KiB", 1024.0},
                                                                        {"MiB", 1024.0 * 1024},
                                                                        {"GiB", 1024.0 * 1024 * 1024},
                                                                        {"TiB", 1024.0 * 1024 * 1024 * 1024},
                                                                        {"kB", 1e3},
                                                                        {"MB", 1e6},
                                                                        {"GB", 1e9},
                                                                        {"TB", 1e12},
                                                                        {"B", 1.0}}};
constexpr double kMaxBytes = 4611686018427387904.0;  // 2^62

}  // namespace

std::optional<int64_t> try_parse_byte_size(std::string_view text) {
  for (const auto& [unit, bytes_of_unit] : kUnits) {
    if (!text.ends_with(unit)) continue;
    text.remove_suffix(unit.size());
    if (text.ends_with(' ')) text.remove_suffix(1);
    double value = 0.0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    const double bytes = value * bytes_of_unit;
    if (!(bytes >= 1.0 && bytes <= kMaxBytes)) return std::nullopt;
    return static_cast<int64_t>(bytes);
  }
  return std::nullopt;
}

std::string format_byte_size(int64_t bytes) {
  constexpr std::array<const char*, 5> kNames = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 1024.0 && unit + 1 < kNames.size(); ++unit) value /= 1024.0;
  return fmt::format("{:.4g} {}", value, kNames[unit]);
}

}  // namespace levin
