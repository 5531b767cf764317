#include "trainer/config/option_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <limits>

#include "trainer/core/error.h"
#include "trainer/core/nearest_name.h"

namespace levin {
namespace {

/// Reads a value into a field. False: the value is of another type; `expected` then says which one was wanted.
struct FieldReader {
  const ConfigValue& value;
  std::string expected = {};
  const ConfigValue* wrong_item = nullptr;  ///< The first item of a list that is of another type.

  bool operator()(bool* field) {
    expected = "true or false";
    if (!is_plain()) return false;
    if (value.scalar == "true" || value.scalar == "True") return assign(*field, true);
    if (value.scalar == "false" || value.scalar == "False") return assign(*field, false);
    return false;
  }
  bool operator()(int64_t* field) {
    expected = "an integer";
    return read_number(*field);
  }
  bool operator()(uint64_t* field) {
    expected = "an integer >= 0";
    return read_number(*field);
  }
  bool operator()(double* field) {
    expected = "a number";
    if (is_plain() && (value.scalar == ".inf" || value.scalar == "inf")) {
      return assign(*field, std::numeric_limits<double>::infinity());
    }
    return read_number(*field);
  }
  bool operator()(std::string* field) {
    expected = "a text";
    return value.is_scalar() && assign(*field, value.scalar);
  }
  bool operator()(BatchLimit* field) {
    expected = "a number of batches (10) or a fraction (0.1)";
    int64_t count = 0;
    if (read_number(count)) return assign(*field, BatchLimit(count));
    double fraction = 0.0;
    return read_number(fraction) && assign(*field, BatchLimit(fraction));
  }
  bool operator()(ValidationInterval* field) {
    expected = "a number of batches (250), a fraction (0.25) or a duration (\"30m\")";
    int64_t count = 0;
    if (read_number(count)) return assign(*field, ValidationInterval(count));
    double fraction = 0.0;
    if (read_number(fraction)) return assign(*field, ValidationInterval(fraction));
    return value.is_scalar() && assign(*field, ValidationInterval(value.scalar));
  }
  bool operator()(MicroBatchSize* field) {
    expected = "a number of samples (32), none or auto";
    int64_t samples = 0;
    if (read_number(samples)) return assign(*field, MicroBatchSize(samples));
    return value.is_scalar() && assign(*field, MicroBatchSize(value.scalar));
  }
  template <class T>
  bool operator()(std::optional<T>* field) {
    if (is_null()) return assign(*field, std::optional<T>());
    T inner{};
    const bool is_read = (*this)(&inner);
    expected += " or null";
    return is_read && assign(*field, std::optional<T>(std::move(inner)));
  }
  template <class T>
  bool operator()(std::vector<T>* field) {
    std::vector<T> result;
    bool is_read = value.is_list();
    T probe{};
    FieldReader item_type{.value = value};
    item_type(&probe);
    expected = fmt::format("a list, each item {}", item_type.expected);
    for (const ConfigValue& item : value.items) {
      T inner{};
      FieldReader reader{.value = item};
      if (is_read && !reader(&inner)) {
        is_read = false;
        wrong_item = &item;
      }
      result.push_back(std::move(inner));
    }
    return is_read && assign(*field, std::move(result));
  }

  bool operator()(std::map<int64_t, int64_t>* field) {
    expected = "a map of integers, as {0: 8, 4: 2}";
    std::map<int64_t, int64_t> result;
    if (!value.is_map()) return false;
    for (const ConfigValue::Entry& entry : value.entries) {
      int64_t key = 0;
      int64_t number = 0;
      if (!FieldReader{.value = entry.value}.read_number(number)) {
        wrong_item = &entry.value;
        return false;
      }
      if (!parse(entry.key, key)) return false;
      result.insert_or_assign(key, number);
    }
    return assign(*field, std::move(result));
  }

 private:
  bool is_plain() const { return value.is_scalar() && !value.is_quoted; }
  bool is_null() const { return value.is_null() || (is_plain() && (value.scalar == "null" || value.scalar == "~")); }

  template <class T>
  static bool assign(T& field, T new_value) {
    field = std::move(new_value);
    return true;
  }
  template <class T>
  bool read_number(T& field) const {
    return is_plain() && parse(value.scalar, field);
  }
  template <class T>
  static bool parse(std::string_view text, T& field) {
    const char* begin = text.data();
    const char* end = begin + text.size();
    if (begin != end && *begin == '+') ++begin;
    T number{};
    const auto [stop, error] = std::from_chars(begin, end, number);
    return error == std::errc() && stop == end && assign(field, number);
  }
};

}  // namespace

void ConfigProblems::add(const ConfigLocation& where, const std::string& text) {
  const std::string location = where.to_string();
  problems_.push_back(location.empty() ? text : fmt::format("{}: {}", location, text));
}

void ConfigProblems::throw_if_any() const {
  if (!problems_.empty()) throw ConfigError(fmt::format("{}", fmt::join(problems_, "\n")));
}

OptionReader::OptionReader(const ConfigValue& section, std::string path, ConfigProblems& problems,
                           std::vector<std::string> ignored)
    : section_(section), path_(std::move(path)), problems_(problems), ignored_(std::move(ignored)) {
  if (!section.is_map() && !section.is_null()) {
    problems_.add(section.location, fmt::format("{} must be a map of options, got {}", path_, section.describe()));
  }
}

std::string OptionReader::full_name(std::string_view key) const {
  return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
}

void OptionReader::visit_field(std::string_view name, OptionTarget target, std::string_view /*help*/,
                               const OptionRule& rule) {
  known_.emplace_back(name);
  const ConfigValue* value = section_.find(name);
  if (value == nullptr) return;
  FieldReader reader{.value = *value};
  if (!std::visit([&](auto* field) { return reader(field); }, target)) {
    const ConfigValue& wrong = reader.wrong_item != nullptr ? *reader.wrong_item : *value;
    problems_.add(wrong.location,
                  fmt::format("{} must be {}, got {}", full_name(name), reader.expected, wrong.describe()));
    return;
  }
  const std::string violation = find_violation(target, rule);
  if (!violation.empty()) problems_.add(value->location, fmt::format("{} {}", full_name(name), violation));
}

void OptionReader::finish() {
  for (const ConfigValue::Entry& entry : section_.entries) {
    const auto is_entry = [&](const std::string& name) { return name == entry.key; };
    if (std::any_of(ignored_.begin(), ignored_.end(), is_entry)) continue;
    if (std::any_of(known_.begin(), known_.end(), is_entry)) continue;
    std::vector<std::string> names = known_;
    names.insert(names.end(), ignored_.begin(), ignored_.end());
    problems_.add(entry.location,
                  fmt::format("unknown key \"{}\"{}", full_name(entry.key), suggest_name(entry.key, names)));
  }
}

}  // namespace levin
