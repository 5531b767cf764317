#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>

namespace levin {

/// How many batches of an epoch are used: a count or a fraction, which are different types. `10` means ten batches,
/// `0.1` a tenth of them, `1` one batch, `1.0` (the default) all, `0` none.
class BatchLimit {
 public:
  BatchLimit() = default;
  template <std::integral T>
  BatchLimit(T count) : value_(static_cast<int64_t>(count)) {}  // implicit on purpose: limit_train_batches = 10
  BatchLimit(double fraction) : value_(fraction) {}             // implicit on purpose: limit_train_batches = 0.1

  bool is_count() const { return std::holds_alternative<int64_t>(value_); }
  /// True if a count is >= 0 or a fraction lies in [0, 1].
  bool is_valid() const;
  /// True if no batch at all is wanted.
  bool is_zero() const;

  /// Batches to use of `available` (nullopt: unknown length). nullopt: no limit. `what` names the option in errors.
  /// Errors: ConfigError if a fraction meets an unknown length, or is above 0 and leaves no batch.
  std::optional<int64_t> resolve(std::optional<int64_t> available, const char* what) const;

  /// "10" or "0.1", as in YAML; a fraction always has a decimal point.
  std::string to_string() const;
  bool operator==(const BatchLimit&) const = default;

 private:
  std::variant<int64_t, double> value_ = 1.0;
};

}  // namespace levin
