#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace levin {

/// How a token is stored: an unsigned little-endian integer.
enum class TokenType { kUint16, kUint32 };

/// "uint16" or "uint32".
std::string_view token_type_name(TokenType type);
/// The type of that name; nullopt if there is none.
std::optional<TokenType> token_type_of_name(std::string_view name);
/// Bytes of a token: 2 or 4.
int64_t token_size(TokenType type);
/// The largest token that the type can hold: 65535 or 4294967295.
uint32_t largest_token(TokenType type);
/// The smallest type that holds the tokens 0 ... vocab_size - 1: uint16 up to 65536 of them.
TokenType smallest_token_type(int64_t vocab_size);

/// What is known of a token file. The file itself is raw tokens without a header; this stands beside it as JSON.
struct TokenFileInfo {
  TokenType type = TokenType::kUint16;
  int64_t num_tokens = 0;  ///< A TokenFileWriter sets it.
  /// All tokens are below it; 0 if that is not known.
  int64_t vocab_size = 0;
  /// What made the tokens, for people to read: a name or a file; "" if that is not known.
  std::string tokenizer = {};
  /// The token that stands after each document, if there is one.
  std::optional<int64_t> end_of_text = std::nullopt;

  bool operator==(const TokenFileInfo&) const = default;
};

/// Where the side file of `token_file` is: "<token_file>.json".
std::filesystem::path token_file_info_path(const std::filesystem::path& token_file);

/// Reads the side file of `token_file`; nullopt if there is none. Keys that are not known are passed over.
/// Errors: DataError that names the side file and what is wrong with it.
std::optional<TokenFileInfo> read_token_file_info(const std::filesystem::path& token_file);

/// Writes the side file of `token_file`, or replaces it in one step. Errors: OutputError with the system's reason.
void write_token_file_info(const std::filesystem::path& token_file, const TokenFileInfo& info);

}  // namespace levin
