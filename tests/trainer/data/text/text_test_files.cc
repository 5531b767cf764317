#include "tests/trainer/data/text/text_test_files.h"

#include <zlib.h>

#include <array>
#include <fstream>

namespace levin {

std::filesystem::path golden_path(const std::string& name) {
  return std::filesystem::path("tests/parity/tokenizer") / name;
}

nlohmann::json read_json(const std::filesystem::path& path) {
  std::ifstream stream(path);
  return nlohmann::json::parse(stream);
}

std::filesystem::path changed_tokenizer(const TestFolder& folder, const std::string& name,
                                        const std::function<void(nlohmann::json&)>& change) {
  nlohmann::json content = read_json(golden_path(name));
  change(content);
  write_bytes(folder / "tokenizer.json", content.dump());
  return folder / "tokenizer.json";
}

void write_gzip(const std::filesystem::path& file, std::string_view text) {
  const gzFile handle = gzopen(file.c_str(), "wb");
  ASSERT_NE(handle, nullptr);
  EXPECT_EQ(gzwrite(handle, text.data(), static_cast<unsigned>(text.size())), static_cast<int>(text.size()));
  EXPECT_EQ(gzclose(handle), Z_OK);
}

std::string random_bytes(std::mt19937& generator, size_t max_pieces) {
  static constexpr std::array<std::string_view, 24> kPieces = {
      "the",    " tokenizer", "'ll",           " ",      "  ",         "\n",          "\r\n", "\t",   "12345",
      "\u00e9", "e\u0301",    "\u0323",        "\u4f60", "\U0001f642", ". ",          "!!",   " (a)", "\u00a0",
      "\u3000", "<|user|>",   "<|endoftext|>", "<|",     "\xf0\x9f",   "\xed\xa0\x80"};
  std::string text;
  const size_t count = generator() % (max_pieces + 1);
  for (size_t i = 0; i < count; ++i) {
    if (generator() % 8 == 0) {
      text.push_back(static_cast<char>(generator() & 0xFF));
    } else {
      text += kPieces[generator() % kPieces.size()];
    }
  }
  return text;
}

}  // namespace levin
