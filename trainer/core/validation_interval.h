#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <variant>

namespace levin {

/// How far apart validations within an epoch are: a number of batches (250), a fraction of the epoch (0.25; 1.0, the
/// default, is its end) or wall time ("30m", "00:01:00:00"; see parse_duration()). The three are different types:
/// `1` is every batch, `1.0` the end of the epoch.
class ValidationInterval {
 public:
  ValidationInterval() = default;
  template <std::integral T>
  ValidationInterval(T batches) : value_(static_cast<int64_t>(batches)) {}  // implicit on purpose, as BatchLimit
  ValidationInterval(double fraction) : value_(fraction) {}
  ValidationInterval(std::string duration) : value_(std::move(duration)) {}
  ValidationInterval(const char* duration) : value_(std::string(duration)) {}

  bool is_batches() const { return std::holds_alternative<int64_t>(value_); }
  bool is_fraction() const { return std::holds_alternative<double>(value_); }
  bool is_time() const { return std::holds_alternative<std::string>(value_); }
  int64_t batches() const { return std::get<int64_t>(value_); }
  double fraction() const { return std::get<double>(value_); }
  /// Errors: ConfigError if the text is no duration.
  double seconds() const;

  /// True if batches are >= 1, a fraction lies in (0, 1], or the text is a duration above 0.
  bool is_valid() const;
  /// As in YAML; a fraction always has a decimal point.
  std::string to_string() const;
  bool operator==(const ValidationInterval&) const = default;

 private:
  std::variant<int64_t, double, std::string> value_ = 1.0;
};

}  // namespace levin
