#include "trainer/data/text/tokenize_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/trainer/core/error_text.h"
#include "tests/trainer/data/text/text_test_files.h"
#include "trainer/core/error.h"
#include "trainer/data/text/bpe_tokenizer.h"
#include "trainer/data/text/byte_tokenizer.h"

namespace levin {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Paths = std::vector<std::filesystem::path>;

std::vector<uint32_t> tokens_of(const Tokenizer& tokenizer, const Paths& files, const TokenizeOptions& options) {
  std::vector<uint32_t> all;
  tokenize_files(tokenizer, files, options,
                 [&](std::span<const uint32_t> tokens) { all.insert(all.end(), tokens.begin(), tokens.end()); });
  return all;
}

TEST(TokenizeFilesTest, EachDocumentEndsWithTheEndOfText) {
  const TestFolder folder;
  write_bytes(folder / "a.txt", "ab\n\nc\n");
  write_gzip(folder / "b.gz", "d");
  const Paths files = {folder / "a.txt", folder / "b.gz"};
  const ByteTokenizer bytes;
  EXPECT_THAT(tokens_of(bytes, files, {.documents = {.border = DocumentBorder::kLine}, .end_of_text = 256}),
              ElementsAre('a', 'b', 256, 'c', 256, 'd', 256));
  EXPECT_THAT(tokens_of(bytes, files, {}), ElementsAre('a', 'b', '\n', '\n', 'c', '\n', 'd'));
}

TEST(TokenizeFilesTest, ProgressAndResultCountWhatWasDone) {
  const TestFolder folder;
  write_bytes(folder / "a.txt", "ab\ncd\n");
  write_bytes(folder / "b.txt", "");
  const Paths files = {folder / "a.txt", folder / "b.txt"};
  std::vector<TokenizeProgress> seen;
  const TokenizeProgress done = tokenize_files(
      ByteTokenizer(), files, {.documents = {.border = DocumentBorder::kLine}, .end_of_text = 256, .chunk_bytes = 1},
      [](std::span<const uint32_t>) {}, [&](const TokenizeProgress& progress) { seen.push_back(progress); });
  EXPECT_EQ(done.num_files, 2);
  EXPECT_EQ(done.num_documents, 2);
  EXPECT_EQ(done.num_tokens, 6);
  EXPECT_EQ(done.num_text_bytes, 4);
  EXPECT_EQ(done.disk_bytes, 6);
  EXPECT_EQ(done.total_disk_bytes, 6);
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0].num_tokens, 3);
  EXPECT_EQ(seen[1].num_documents, 2);
}

TEST(TokenizeFilesTest, ThreadsAndChunksChangeNothing) {
  const TestFolder folder;
  std::mt19937 generator(23);
  Paths files;
  for (const char* name : {"a.txt", "b.txt", "c.gz"}) {
    files.push_back(folder / name);
    const std::string text = random_bytes(generator, 2000);
    if (files.back().extension() == ".gz") {
      write_gzip(files.back(), text);
    } else {
      write_bytes(files.back(), text);
    }
  }
  for (const char* name : {"gpt2_style.json", "llama3_style.json", "qwen2_style.json", "prefix_space.json"}) {
    const BpeTokenizer tokenizer(golden_path(name));
    for (const DocumentBorder border : {DocumentBorder::kFile, DocumentBorder::kLine}) {
      TokenizeOptions options = {.documents = {.border = border}, .end_of_text = 0, .chunk_bytes = size_t{1} << 30};
      const std::vector<uint32_t> whole = tokens_of(tokenizer, files, options);
      EXPECT_GT(whole.size(), 2000u);
      for (const size_t chunk_bytes : {size_t{1}, size_t{100}, size_t{5000}}) {
        for (const int64_t num_threads : {1, 4}) {
          options.chunk_bytes = chunk_bytes;
          options.num_threads = num_threads;
          EXPECT_TRUE(tokens_of(tokenizer, files, options) == whole) << name << chunk_bytes << " " << num_threads;
        }
      }
    }
  }
}

TEST(TokenizeFilesTest, ErrorsEndTheWork) {
  const TestFolder folder;
  write_bytes(folder / "a.txt", std::string(100000, 'a'));
  const ByteTokenizer bytes;
  bool is_delivered = false;
  EXPECT_THAT(error_text<DataError>([&] {
                tokenize_files(bytes, Paths{folder / "a.txt", folder / "none.txt"}, {},
                               [&](std::span<const uint32_t>) { is_delivered = true; });
              }),
              HasSubstr("cannot open " + (folder / "none.txt").string()));
  EXPECT_FALSE(is_delivered);  // a missing file is found before any work
  EXPECT_THAT(error_text<OutputError>([&] {
                tokenize_files(bytes, Paths{folder / "a.txt"}, {.num_threads = 3, .chunk_bytes = 10},
                               [](std::span<const uint32_t>) { throw OutputError("full"); });
              }),
              HasSubstr("full"));
  EXPECT_THAT(error_text<ConfigError>([&] { tokens_of(bytes, {}, {.num_threads = 0}); }),
              HasSubstr("num_threads must be >= 1, got 0"));
  EXPECT_THAT(error_text<ConfigError>([&] { tokens_of(bytes, {}, {.chunk_bytes = 0}); }),
              HasSubstr("chunk_bytes must be >= 1"));
}

}  // namespace
}  // namespace levin
