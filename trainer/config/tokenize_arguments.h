#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace levin {

/// The command line of `levin tokenize`.
struct TokenizeArguments {
  std::vector<std::string> files = {};
  std::string output = {};
  std::string tokenizer = "bytes";
  std::string documents = "file";  ///< "file", "line" or "separator".
  std::string separator = {};
  std::optional<std::string> end_of_text = std::nullopt;  ///< A token's text, or "none"; default: the tokenizer's.
  int64_t num_threads = 1;
  bool is_help = false;
};

/// arguments: what follows `tokenize`. Errors: ConfigError for an unknown option, a missing or an impossible value.
TokenizeArguments parse_tokenize_arguments(const std::vector<std::string>& arguments);

/// What `levin tokenize` takes and does.
std::string tokenize_help();

}  // namespace levin
