#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace levin {

/// The content of a file. Errors: DataError if it cannot be read.
std::string read_whole_file(const std::filesystem::path& file);

/// Writes a file under a temporary name beside it, which then takes its place: a reader sees the old content or the new
/// one, never a part. Errors: OutputError; an older file is then as it was, and nothing is left beside it.
void replace_file(const std::filesystem::path& file, std::string_view text);

}  // namespace levin
