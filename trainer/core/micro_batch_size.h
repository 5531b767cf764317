#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>

namespace levin {

/// How many samples go through the model at once: the whole batch ("none", the default), at most a number (32), or as
/// many as fit into memory ("auto").
class MicroBatchSize {
 public:
  MicroBatchSize() = default;
  template <std::integral T>
  MicroBatchSize(T samples) : value_(static_cast<int64_t>(samples)) {}  // implicit on purpose, as BatchLimit
  MicroBatchSize(std::string mode) : value_(std::move(mode)) {}
  MicroBatchSize(const char* mode) : value_(std::string(mode)) {}

  bool is_whole_batch() const { return value_ == Value("none"); }
  bool is_automatic() const { return value_ == Value("auto"); }
  bool is_fixed() const { return std::holds_alternative<int64_t>(value_); }
  int64_t samples() const { return std::get<int64_t>(value_); }

  /// True if it is "none", "auto", or a number >= 1.
  bool is_valid() const { return is_fixed() ? samples() >= 1 : is_whole_batch() || is_automatic(); }
  /// As in YAML.
  std::string to_string() const { return is_fixed() ? std::to_string(samples()) : std::get<std::string>(value_); }
  bool operator==(const MicroBatchSize&) const = default;

 private:
  using Value = std::variant<int64_t, std::string>;
  Value value_ = "none";
};

}  // namespace levin
