#include "callbacks/bar_line.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

namespace levin {
namespace {

constexpr int64_t kMinBarColumns = 8;
constexpr int64_t kMaxBarColumns = 40;

// One column for each code point: true for the names that people give to metrics.
int64_t count_columns(std::string_view text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
}

std::string_view cut(std::string_view text, int64_t num_columns) {
  int64_t columns = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xC0) == 0x80) continue;
    if (columns++ == num_columns) return text.substr(0, i);
  }
  return text;
}

std::string repeat(std::string_view text, int64_t count) {
  std::string result;
  for (int64_t i = 0; i < count; ++i) result += text;
  return result;
}

std::string format_rate(double rate, const std::string& unit) {
  if (rate <= 0.0) return fmt::format("? {}/s", unit);
  if (rate < 1.0) return fmt::format("{:.2f} s/{}", 1.0 / rate, unit);
  return rate < 1000.0 ? fmt::format("{:.1f} {}/s", rate, unit) : fmt::format("{:.0f} {}/s", rate, unit);
}

std::string format_counts(const BarLine& line) {
  return line.total ? fmt::format("{}/{}", line.num_done, *line.total) : fmt::format("{}", line.num_done);
}

std::string format_times(const BarLine& line) {
  std::string times = format_duration(line.elapsed_s);
  if (!line.is_final && line.total) {
    const auto num_left = static_cast<double>(std::max<int64_t>(*line.total - line.num_done, 0));
    times += line.rate > 0.0 ? "<" + format_duration(num_left / line.rate) : "<?";
  }
  return fmt::format("[{}, {}]", times, format_rate(line.rate, line.unit));
}

// Three decimals where they say something, so that the line does not jump from one drawing to the next.
std::string format_value(double value) {
  const double size = std::abs(value);
  if (size == 0.0 || (size >= 1e-3 && size < 1e4)) return fmt::format("{:.3f}", value);
  return std::isnan(value) ? "nan" : fmt::format("{:.3g}", value);
}

std::vector<std::string> format_metrics(const BarLine& line) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : line.metrics) parts.push_back(fmt::format(" {} {}", name, format_value(value)));
  return parts;
}

std::string format_bar(const BarLine& line, int64_t num_columns, const BarStyle& style) {
  const auto total = static_cast<double>(std::max<int64_t>(*line.total, 1));
  const double fraction = std::clamp(static_cast<double>(line.num_done) / total, 0.0, 1.0);
  const auto num_halves = static_cast<int64_t>(std::floor(fraction * static_cast<double>(2 * num_columns)));
  const int64_t num_full = num_halves / 2;
  // Heavy line, its left half, thin line.
  const std::string_view full = style.is_utf8 ? "\u2501" : "=";
  const std::string_view half = style.is_utf8 ? "\u2578" : ">";
  const std::string_view rest = style.is_utf8 ? "\u2500" : "-";
  const bool has_half = num_halves % 2 == 1;
  const std::string done = repeat(full, num_full) + (has_half ? std::string(half) : "");
  const std::string open = repeat(rest, num_columns - num_full - (has_half ? 1 : 0));
  return style.has_colors ? "\x1b[36m" + done + "\x1b[90m" + open + "\x1b[0m" : done + open;
}

}  // namespace

std::string format_duration(double seconds) {
  // The bound keeps the conversion defined for any input.
  const auto whole = static_cast<int64_t>(std::clamp(seconds, 0.0, 1e9));
  const int64_t hours = whole / 3600;
  const std::string minutes = fmt::format("{:02}:{:02}", whole / 60 % 60, whole % 60);
  return hours > 0 ? fmt::format("{}:{}", hours, minutes) : minutes;
}

std::string format_plain_line(const BarLine& line) {
  return fmt::format("{} {} {}{}", line.label, format_counts(line), format_times(line),
                     fmt::join(format_metrics(line), ""));
}

std::string format_bar_line(const BarLine& line, const BarStyle& style) {
  const int64_t available = std::max<int64_t>(style.num_columns - 1, 0);
  const std::string progress = fmt::format("{} {}", format_counts(line), format_times(line));
  std::vector<std::string> metrics = format_metrics(line);
  int64_t room = available - count_columns(line.label) - count_columns(progress) - 2;
  for (const std::string& part : metrics) room -= count_columns(part);
  while (room < (line.total ? kMinBarColumns : -1) && !metrics.empty()) {
    room += count_columns(metrics.back());
    metrics.pop_back();
  }
  const std::string tail = progress + fmt::format("{}", fmt::join(metrics, ""));
  if (!line.total || room < kMinBarColumns) return std::string(cut(line.label + " " + tail, available));
  return line.label + " " + format_bar(line, std::min(room, kMaxBarColumns), style) + " " + tail;
}

}  // namespace levin
