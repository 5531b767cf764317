#include "trainer/core/state_dict.h"

#include <fmt/format.h>

#include <array>

#include "trainer/core/error.h"

namespace levin {

void StateDict::set(std::string name, Value value) {
  if (!index_.emplace(name, entries_.size()).second) {
    throw InternalError(fmt::format("[StateDict] the entry \"{}\" is there already.", name));
  }
  entries_.emplace_back(std::move(name), std::move(value));
}

void StateDict::replace(std::string_view name, Value value) {
  const auto found = index_.find(name);
  if (found == index_.end()) throw InternalError(fmt::format("[StateDict] there is no entry \"{}\".", name));
  entries_[found->second].second = std::move(value);
}

void StateDict::merge(std::string_view prefix, const StateDict& other) {
  for (const auto& [name, value] : other) set(std::string(prefix) + name, value);
}

const StateDict::Value* StateDict::find(std::string_view name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &entries_[found->second].second;
}

bool StateDict::contains(std::string_view name) const { return find(name) != nullptr; }

template <class T>
const T& StateDict::get(std::string_view name, const char* type_name) const {
  static constexpr std::array<const char*, 4> kTypeNames = {"a tensor", "an integer", "a real number", "a text"};
  const Value* value = find(name);
  if (value == nullptr) {
    throw CheckpointError(
        fmt::format("[StateDict] the saved state has no entry \"{}\" ({} expected).", name, type_name));
  }
  if (const T* typed = std::get_if<T>(value)) return *typed;
  throw CheckpointError(fmt::format("[StateDict] the saved entry \"{}\" must be {}, got {}.", name, type_name,
                                    kTypeNames[value->index()]));
}

const at::Tensor& StateDict::tensor(std::string_view name) const { return get<at::Tensor>(name, "a tensor"); }
int64_t StateDict::integer(std::string_view name) const { return get<int64_t>(name, "an integer"); }
double StateDict::real(std::string_view name) const { return get<double>(name, "a real number"); }
const std::string& StateDict::text(std::string_view name) const { return get<std::string>(name, "a text"); }

StateDict StateDict::under(std::string_view prefix) const {
  StateDict result;
  for (const auto& [name, value] : entries_) {
    if (name.starts_with(prefix)) result.set(name.substr(prefix.size()), value);
  }
  return result;
}

}  // namespace levin
