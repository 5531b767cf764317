#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace levin {

/// A length that the user configured, or else that of the run.
class RunLength {
 public:
  /// owner, key: for errors, "CosineAnnealingLR" and "T_max".
  RunLength(std::string owner, std::string key, std::optional<int64_t> configured)
      : owner_(std::move(owner)), key_(std::move(key)), configured_(configured) {}

  /// See Schedule::set_total_steps. Errors: ConfigError if neither is there.
  void set_total_steps(std::optional<int64_t> total_steps);
  /// Steps, >= 1. Errors: ConfigError if it is not known.
  int64_t value() const;

 private:
  std::string owner_;
  std::string key_;
  std::optional<int64_t> configured_;
  std::optional<int64_t> of_run_ = std::nullopt;
};

}  // namespace levin
