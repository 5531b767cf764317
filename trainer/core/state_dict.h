#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace levin {

/// Saved state: an ordered list of name -> tensor | integer | real | text. The only currency in which parts of a run
/// hand over what a checkpoint keeps; parts never see files.
class StateDict {
 public:
  using Value = std::variant<at::Tensor, int64_t, double, std::string>;
  using Entry = std::pair<std::string, Value>;

  /// Adds an entry. Errors: InternalError if the name is there already.
  void set(std::string name, Value value);
  /// Adds all entries of `other` as "<prefix><name>". Errors: InternalError if a name is there already.
  void merge(std::string_view prefix, const StateDict& other);

  bool contains(std::string_view name) const;
  /// Errors of the four: CheckpointError if the entry is missing or of another type; it names both.
  const at::Tensor& tensor(std::string_view name) const;
  int64_t integer(std::string_view name) const;
  double real(std::string_view name) const;
  const std::string& text(std::string_view name) const;

  /// The entries whose name begins with `prefix`, with the prefix cut off.
  StateDict under(std::string_view prefix) const;

  bool empty() const { return entries_.empty(); }
  size_t size() const { return entries_.size(); }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }

 private:
  const Value* find(std::string_view name) const;
  template <class T>
  const T& get(std::string_view name, const char* type_name) const;

  std::vector<Entry> entries_;
};

}  // namespace levin
