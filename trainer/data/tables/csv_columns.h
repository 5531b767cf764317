#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace levin {

/// A number, with spaces around it or not: nullopt if `text` is none, or does not fit the type. NaN counts as none.
std::optional<float> parse_float(std::string_view text);
std::optional<int64_t> parse_integer(std::string_view text);

/// Numbers for the texts of a column: in the order of their first appearance while it is read, in the order of the
/// texts at the end; or those of a given list.
class CategoryCoder {
 public:
  CategoryCoder() = default;
  /// Errors: ConfigError if a text occurs twice. column: for the error.
  CategoryCoder(const std::vector<std::string>& vocabulary, const std::string& column);

  /// nullopt if the text is not in a given list.
  std::optional<int64_t> code(std::string_view text);
  /// Sorts the texts by their bytes, unless they were given. Returns the final number of each one that code() gave.
  std::vector<int64_t> finish();
  /// The texts, in the order of their numbers.
  const std::vector<std::string>& vocabulary() const { return vocabulary_; }

 private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };

  bool is_given_ = false;
  std::vector<std::string> vocabulary_;
  std::unordered_map<std::string, int64_t, Hash, std::equal_to<>> codes_;
};

}  // namespace levin
