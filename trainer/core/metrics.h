#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace levin {

/// Named scalar values, in the order in which they were first set.
class Metrics {
 public:
  using Entry = std::pair<std::string, double>;

  /// Sets a value, new or old.
  void set(std::string_view name, double value);
  void set_all(const Metrics& other);
  std::optional<double> find(std::string_view name) const;
  void clear() { entries_.clear(); }

  bool empty() const { return entries_.empty(); }
  size_t size() const { return entries_.size(); }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }
  /// "train_loss, val_loss", for error texts.
  std::string names() const;

 private:
  std::vector<Entry> entries_;
};

}  // namespace levin
