#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "trainer/core/batch_limit.h"
#include "trainer/core/micro_batch_size.h"
#include "trainer/core/validation_interval.h"

namespace levin {

/// What values an option allows. Build it with at_least(), above(), between() or one_of().
struct OptionRule {
  std::optional<double> minimum = std::nullopt;
  bool minimum_is_excluded = false;
  std::optional<double> maximum = std::nullopt;
  std::vector<std::string> choices = {};

  /// "must be >= 1", "must be one of: min, max", or "" if everything is allowed.
  std::string describe() const;
};

inline OptionRule at_least(double minimum) { return {.minimum = minimum}; }
inline OptionRule above(double minimum) { return {.minimum = minimum, .minimum_is_excluded = true}; }
inline OptionRule between(double minimum, double maximum) { return {.minimum = minimum, .maximum = maximum}; }
inline OptionRule one_of(std::vector<std::string> choices) { return {.choices = std::move(choices)}; }

/// A field of an options struct. Its type decides what YAML may say. The rule of a map {0: 8, 4: 2} is for its values.
using OptionTarget =
    std::variant<bool*, int64_t*, uint64_t*, double*, std::string*, BatchLimit*, ValidationInterval*, MicroBatchSize*,
                 std::optional<int64_t>*, std::optional<uint64_t>*, std::optional<double>*, std::optional<std::string>*,
                 std::vector<int64_t>*, std::vector<double>*, std::vector<std::string>*, std::map<int64_t, int64_t>*,
                 std::optional<bool>*>;

/// Visits the fields of an options struct. One description of the fields serves reading from YAML, checking, `--help`,
/// and saving the effective configuration. An options struct has a default on every field and one method:
///
///   struct Options {
///     int64_t hidden_size = 128;
///     double dropout = 0.25;
///     void visit(levin::OptionVisitor& visitor) {
///       visitor.field("hidden_size", hidden_size, "units of the hidden layer", levin::at_least(1));
///       visitor.field("dropout", dropout, "probability that a unit is dropped", levin::between(0, 1));
///     }
///   };
class OptionVisitor {
 public:
  virtual ~OptionVisitor() = default;

  /// T: bool, int64_t, uint64_t, double, std::string, BatchLimit, ValidationInterval, MicroBatchSize, an optional of a
  /// number or string, or a vector of int64_t, double or std::string.
  template <class T>
  void field(std::string_view name, T& value, std::string_view help, const OptionRule& rule = {}) {
    static_assert(std::is_constructible_v<OptionTarget, T*>,
                  "an option is a bool, int64_t, uint64_t, double, std::string, BatchLimit, ValidationInterval, "
                  "MicroBatchSize, or an optional or vector of numbers or texts");
    visit_field(name, OptionTarget(&value), help, rule);
  }

 protected:
  virtual void visit_field(std::string_view name, OptionTarget target, std::string_view help,
                           const OptionRule& rule) = 0;
};

/// The value as YAML would say it: `3`, `true`, `[1, 2]`, `null`.
std::string option_to_string(const OptionTarget& target);

/// What is wrong with the value, for example "must be >= 1, got 0"; "" if it is allowed.
std::string find_violation(const OptionTarget& target, const OptionRule& rule);

/// Collects "<name> must be ..., got ..." for each field whose value its rule does not allow.
class OptionChecker final : public OptionVisitor {
 public:
  const std::vector<std::string>& problems() const { return problems_; }

 private:
  void visit_field(std::string_view name, OptionTarget target, std::string_view help, const OptionRule& rule) override;

  std::vector<std::string> problems_;
};

}  // namespace levin
