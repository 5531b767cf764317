#include "trainer/core/batch.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "trainer/core/error.h"

namespace levin {
namespace {

const char* kind_of(const Batch& batch) {
  if (batch.is_tensor()) return "a tensor";
  return batch.is_list() ? "a list" : "a set of fields";
}

}  // namespace

std::string describe_tensor(const at::Tensor& tensor) {
  if (!tensor.defined()) return "undefined";
  std::string dtype = c10::toString(tensor.scalar_type());
  if (tensor.scalar_type() == at::kFloat) dtype = "float32";
  if (tensor.scalar_type() == at::kDouble) dtype = "float64";
  if (tensor.scalar_type() == at::kLong) dtype = "int64";
  if (tensor.scalar_type() == at::kInt) dtype = "int32";
  if (tensor.scalar_type() == at::kByte) dtype = "uint8";
  if (tensor.scalar_type() == at::kBool) dtype = "bool";
  return fmt::format("{} [{}]", dtype, fmt::join(tensor.sizes(), ", "));
}

Batch::Batch(Fields fields) : node_(std::move(fields)) {
  const auto& named = std::get<Fields>(node_);
  for (size_t i = 0; i < named.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (named[i].first == named[j].first) {
        throw DataError(fmt::format("[Batch] field names must differ, got \"{}\" twice.", named[i].first));
      }
    }
  }
}

const at::Tensor& Batch::tensor() const {
  if (!is_tensor()) throw DataError(fmt::format("[Batch] expected a tensor, got {}: {}.", kind_of(*this), describe()));
  return std::get<at::Tensor>(node_);
}

const Batch::Items& Batch::items() const {
  if (!is_list()) throw DataError(fmt::format("[Batch] expected a list, got {}: {}.", kind_of(*this), describe()));
  return std::get<Items>(node_);
}

const Batch::Fields& Batch::fields() const {
  if (!is_fields()) {
    throw DataError(fmt::format("[Batch] expected named fields, got {}: {}.", kind_of(*this), describe()));
  }
  return std::get<Fields>(node_);
}

const Batch& Batch::operator[](size_t index) const {
  const Items& list = items();
  if (index >= list.size()) {
    throw DataError(
        fmt::format("[Batch] index {} is out of range: the list has {} items: {}.", index, list.size(), describe()));
  }
  return list[index];
}

const Batch& Batch::operator[](std::string_view name) const {
  std::vector<std::string> names;
  for (const auto& [field_name, value] : fields()) {
    if (field_name == name) return value;
    names.push_back(field_name);
  }
  throw DataError(fmt::format("[Batch] there is no field \"{}\"; the fields are: {}.", name, fmt::join(names, ", ")));
}

size_t Batch::size() const {
  if (is_tensor()) return 1;
  return is_list() ? std::get<Items>(node_).size() : std::get<Fields>(node_).size();
}

void Batch::check_num_tensors(size_t expected) const {
  const auto is_leaf = [](const Batch& item) { return item.is_tensor(); };
  const bool fits = is_list() && size() == expected && std::all_of(items().begin(), items().end(), is_leaf);
  if (!fits) {
    throw DataError(fmt::format("[Batch] expected a list of {} tensors, got {} of size {}: {}.", expected,
                                kind_of(*this), size(), describe()));
  }
}

Batch Batch::map(const std::function<at::Tensor(const at::Tensor&)>& fn) const {
  if (is_tensor()) {
    const at::Tensor& leaf = std::get<at::Tensor>(node_);
    return leaf.defined() ? Batch(fn(leaf)) : Batch(leaf);
  }
  if (is_list()) {
    Items result;
    result.reserve(size());
    for (const Batch& item : items()) result.push_back(item.map(fn));
    return Batch(std::move(result));
  }
  Fields result;
  result.reserve(size());
  for (const auto& [name, value] : fields()) result.emplace_back(name, value.map(fn));
  return Batch(std::move(result));
}

bool Batch::is_on(at::Device device) const {
  if (is_tensor()) {
    const at::Tensor& leaf = std::get<at::Tensor>(node_);
    return !leaf.defined() || leaf.device() == device;
  }
  if (is_list()) return std::all_of(items().begin(), items().end(), [&](const Batch& b) { return b.is_on(device); });
  return std::all_of(fields().begin(), fields().end(), [&](const auto& field) { return field.second.is_on(device); });
}

Batch Batch::to(at::Device device) const {
  if (is_on(device)) return *this;
  return map([&](const at::Tensor& leaf) { return leaf.to(device, /*non_blocking=*/leaf.is_pinned()); });
}

const at::Tensor* Batch::first_leaf_with_dim() const {
  if (is_tensor()) {
    const at::Tensor& leaf = std::get<at::Tensor>(node_);
    return leaf.defined() && leaf.dim() > 0 ? &leaf : nullptr;
  }
  if (is_list()) {
    for (const Batch& item : items()) {
      if (const at::Tensor* leaf = item.first_leaf_with_dim()) return leaf;
    }
    return nullptr;
  }
  for (const auto& [name, value] : fields()) {
    if (const at::Tensor* leaf = value.first_leaf_with_dim()) return leaf;
  }
  return nullptr;
}

bool Batch::has_leaf() const {
  if (is_tensor()) return std::get<at::Tensor>(node_).defined();
  if (is_list()) return std::any_of(items().begin(), items().end(), [](const Batch& b) { return b.has_leaf(); });
  return std::any_of(fields().begin(), fields().end(), [](const auto& field) { return field.second.has_leaf(); });
}

int64_t Batch::batch_size() const {
  if (const at::Tensor* leaf = first_leaf_with_dim()) return leaf->size(0);
  if (has_leaf()) return 1;
  throw DataError("[Batch] an empty batch has no batch size.");
}

Batch Batch::slice(int64_t begin, int64_t end) const {
  return map([&](const at::Tensor& leaf) -> at::Tensor {
    if (leaf.dim() == 0) return leaf;
    if (begin < 0 || begin > end || end > leaf.size(0)) {
      throw DataError(
          fmt::format("[Batch] samples [{}, {}) are out of range for a leaf {}.", begin, end, describe_tensor(leaf)));
    }
    return leaf.slice(0, begin, end);
  });
}

std::string Batch::describe() const {
  if (is_tensor()) return describe_tensor(std::get<at::Tensor>(node_));
  std::vector<std::string> parts;
  if (is_list()) {
    for (const Batch& item : items()) parts.push_back(item.describe());
    return fmt::format("[{}]", fmt::join(parts, ", "));
  }
  for (const auto& [name, value] : fields()) parts.push_back(fmt::format("{}: {}", name, value.describe()));
  return fmt::format("{{{}}}", fmt::join(parts, ", "));
}

}  // namespace levin
