#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
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
  /// Puts another value in place of an entry's. Errors: InternalError if there is no such entry.
  void replace(std::string_view name, Value value);
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

  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };

  std::vector<Entry> entries_;
  std::unordered_map<std::string, size_t, Hash, std::equal_to<>> index_;  // name -> place in entries_
};

}  // namespace levin
