#pragma once

#include <fmt/format.h>

#include <map>
#include <optional>
#include <string>

#include "trainer/core/batch_limit.h"
#include "trainer/core/error.h"
#include "trainer/core/micro_batch_size.h"
#include "trainer/core/validation_interval.h"
#include "trainer/optim/state_fields.h"

namespace levin {

/// visit_value(): a field of any type in terms of what a StateDict holds. A truth value is 0 or 1, an optional value is
/// missing where there is none, and a list is "<name>.size", "<name>.0", "<name>.1", ...
inline void visit_value(FieldVisitor& visitor, const std::string& name, int64_t& value) {
  visitor.integer(name, value);
}
inline void visit_value(FieldVisitor& visitor, const std::string& name, double& value) { visitor.real(name, value); }
inline void visit_value(FieldVisitor& visitor, const std::string& name, std::string& value) {
  visitor.text(name, value);
}
inline void visit_value(FieldVisitor& visitor, const std::string& name, at::Tensor& value) {
  visitor.tensor(name, value, nullptr, /*is_required=*/false);
}
inline void visit_value(FieldVisitor& visitor, const std::string& name, bool& value) {
  int64_t number = value ? 1 : 0;
  visitor.integer(name, number);
  value = number != 0;
}
inline void visit_value(FieldVisitor& visitor, const std::string& name, uint64_t& value) {
  auto number = static_cast<int64_t>(value);
  visitor.integer(name, number);
  value = static_cast<uint64_t>(number);
}
inline void visit_value(FieldVisitor& /*visitor*/, const std::string& name, BatchLimit& /*value*/) {
  throw InternalError(fmt::format("[optimizer state] the option {} of an optimizer is a limit of batches.", name));
}
inline void visit_value(FieldVisitor& /*visitor*/, const std::string& name, MicroBatchSize& /*value*/) {
  throw InternalError(fmt::format("[optimizer state] the option {} of an optimizer is a micro-batch size.", name));
}
inline void visit_value(FieldVisitor& /*visitor*/, const std::string& name, ValidationInterval& /*value*/) {
  throw InternalError(fmt::format("[optimizer state] the option {} of an optimizer is a limit of batches.", name));
}

inline void visit_value(FieldVisitor& /*visitor*/, const std::string& name, std::map<int64_t, int64_t>& /*value*/) {
  throw InternalError(fmt::format("[optimizer state] the option {} of an optimizer is a map.", name));
}

template <class List>
void visit_list(FieldVisitor& visitor, const std::string& name, List& values) {
  auto size = static_cast<int64_t>(values.size());
  visitor.integer(name + ".size", size);
  values.resize(static_cast<size_t>(size));
  for (size_t i = 0; i < values.size(); ++i) visit_value(visitor, fmt::format("{}.{}", name, i), values[i]);
}

template <class T>
void visit_value(FieldVisitor& visitor, const std::string& name, std::vector<T>& values) {
  visit_list(visitor, name, values);
}

template <class T>
void visit_value(FieldVisitor& visitor, const std::string& name, std::optional<T>& value) {
  if (!visitor.optional(name, value.has_value())) {
    value.reset();
    return;
  }
  if (!value) value.emplace();
  visit_value(visitor, name, *value);
}

}  // namespace levin
