#include "trainer/data/tables/csv_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "trainer/core/error.h"

namespace levin {
namespace {

/// What std::from_chars does not take: spaces around, and a plus sign.
std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  return text;
}

template <class T>
std::optional<T> parse(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::optional<float> parse_float(std::string_view text) {
  text = trim(text);
  // Through double, so that a number too small for float32 is 0 and one too large is noticed.
  const std::optional<double> value = parse<double>(text);
  if (!value || std::isnan(*value)) return std::nullopt;
  constexpr double kLargest = std::numeric_limits<float>::max();
  if (std::isfinite(*value) && std::abs(*value) > kLargest) return std::nullopt;
  return static_cast<float>(*value);
}

std::optional<int64_t> parse_integer(std::string_view text) { return parse<int64_t>(trim(text)); }

CategoryCoder::CategoryCoder(const std::vector<std::string>& vocabulary, const std::string& column)
    : is_given_(true), vocabulary_(vocabulary) {
  for (const std::string& text : vocabulary_) {
    if (!codes_.emplace(text, static_cast<int64_t>(codes_.size())).second) {
      throw ConfigError(
          fmt::format("[CsvDataset] the vocabulary of column \"{}\" has \"{}\" more than once.", column, text));
    }
  }
}

std::optional<int64_t> CategoryCoder::code(std::string_view text) {
  const auto found = codes_.find(text);
  if (found != codes_.end()) return found->second;
  if (is_given_) return std::nullopt;
  const auto number = static_cast<int64_t>(vocabulary_.size());
  vocabulary_.emplace_back(text);
  codes_.emplace(std::string(text), number);
  return number;
}

std::vector<int64_t> CategoryCoder::finish() {
  std::vector<int64_t> order(vocabulary_.size());
  std::iota(order.begin(), order.end(), 0);
  if (is_given_) return order;
  std::ranges::sort(order, {},
                    [&](int64_t number) -> const std::string& { return vocabulary_[static_cast<size_t>(number)]; });
  std::vector<int64_t> final_numbers(order.size());
  std::vector<std::string> sorted(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    final_numbers[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
    sorted[i] = std::move(vocabulary_[static_cast<size_t>(order[i])]);
  }
  vocabulary_ = std::move(sorted);
  for (auto& [text, number] : codes_) number = final_numbers[static_cast<size_t>(number)];
  return final_numbers;
}

}  // namespace levin
