#pragma once

#include <filesystem>
#include <string>

namespace levin {

/// Writes a file, and replaces one that is there. Errors: OutputError "[owner] ...".
void write_report(const std::string& owner, const std::filesystem::path& path, const std::string& text);

}  // namespace levin
