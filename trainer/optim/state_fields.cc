#include "trainer/optim/state_fields.h"

#include <ATen/ops/empty_like.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "trainer/core/batch.h"
#include "trainer/core/error.h"

namespace levin {

void FieldWriter::tensor(const std::string& name, at::Tensor& value, const at::Tensor* /*like*/, bool /*is_required*/) {
  if (value.defined()) state_.set(prefix_ + name, value.detach());
}

FieldReader::FieldReader(const StateDict& state) {
  for (const auto& [name, value] : state) {
    order_.push_back(name);
    values_.emplace(name, &value);
  }
}

const StateDict::Value* FieldReader::find(const std::string& name) {
  const auto entry = values_.find(name);
  if (entry == values_.end()) return nullptr;
  used_.insert(name);
  return entry->second;
}

template <class T>
void FieldReader::read(const std::string& name, T& value, const char* expected) {
  const std::string full = prefix_ + name;
  const StateDict::Value* saved = find(full);
  if (saved == nullptr) {
    missing_.push_back(full);
  } else if (const T* typed = std::get_if<T>(saved)) {
    value = *typed;
  } else {
    wrong_.push_back(fmt::format("{} must be {}", full, expected));
  }
}
template void FieldReader::read(const std::string&, int64_t&, const char*);
template void FieldReader::read(const std::string&, double&, const char*);
template void FieldReader::read(const std::string&, std::string&, const char*);

bool FieldReader::optional(const std::string& name, bool /*has_value*/) { return values_.contains(prefix_ + name); }

void FieldReader::tensor(const std::string& name, at::Tensor& value, const at::Tensor* like, bool is_required) {
  const std::string full = prefix_ + name;
  const StateDict::Value* saved = find(full);
  if (saved == nullptr) {
    if (is_required) missing_.push_back(full);
    return;
  }
  const at::Tensor* tensor = std::get_if<at::Tensor>(saved);
  if (tensor == nullptr) {
    wrong_.push_back(fmt::format("{} must be a tensor", full));
    return;
  }
  if (like == nullptr) {
    value = tensor->to(device_, tensor->scalar_type(), /*non_blocking=*/false, /*copy=*/true);
    return;
  }
  if (tensor->sizes() != like->sizes() || tensor->scalar_type() != like->scalar_type()) {
    wrong_.push_back(fmt::format("{} must be {}, got {}", full, describe_tensor(*like), describe_tensor(*tensor)));
    return;
  }
  // With the strides and the device of what it stands for, whatever the saved one has.
  const at::Tensor copy = at::empty_like(*like);
  copy.copy_(*tensor);
  value = copy;
}

void FieldReader::throw_if_any() const {
  std::vector<std::string> unexpected;
  for (const std::string& name : order_) {
    if (!used_.contains(name)) unexpected.push_back(name);
  }
  std::vector<std::string> parts;
  if (!missing_.empty()) parts.push_back(fmt::format("missing: {}", fmt::join(missing_, ", ")));
  if (!unexpected.empty()) parts.push_back(fmt::format("unexpected: {}", fmt::join(unexpected, ", ")));
  if (!wrong_.empty()) parts.push_back(fmt::format("wrong: {}", fmt::join(wrong_, ", ")));
  if (parts.empty()) return;
  throw CheckpointError(
      fmt::format("[optimizer state] the saved state must fit the optimizer, got {}.", fmt::join(parts, "; ")));
}

}  // namespace levin
