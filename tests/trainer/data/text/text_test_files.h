#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "tests/trainer/checkpoint/test_files.h"

namespace levin {

/// A file of tests/parity/tokenizer.
std::filesystem::path golden_path(const std::string& name);
nlohmann::json read_json(const std::filesystem::path& path);

/// The tokenizer.json `name` of the parity tests, changed, as a file in `folder`.
std::filesystem::path changed_tokenizer(const TestFolder& folder, const std::string& name,
                                        const std::function<void(nlohmann::json&)>& change);

void write_gzip(const std::filesystem::path& file, std::string_view text);

/// Up to `max_pieces` pieces, most of them text, some of them single bytes that are no UTF-8.
std::string random_bytes(std::mt19937& generator, size_t max_pieces);

}  // namespace levin
