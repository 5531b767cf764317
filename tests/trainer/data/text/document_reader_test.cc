#include "trainer/data/text/document_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/trainer/core/error_text.h"
#include "tests/trainer/data/text/text_test_files.h"
#include "trainer/core/error.h"

namespace levin {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const DocumentOptions kLines = {.border = DocumentBorder::kLine};
const DocumentOptions kMarks = {.border = DocumentBorder::kSeparator, .separator = "<|>"};

std::vector<std::string> read_all(DocumentReader& reader) {
  std::vector<std::string> documents;
  while (const auto part = reader.next()) documents.emplace_back(part->text);
  return documents;
}

std::vector<std::string> read(const std::string& text, const DocumentOptions& options) {
  const TestFolder folder;
  write_bytes(folder / "a.txt", text);
  DocumentReader reader(folder / "a.txt", options);
  return read_all(reader);
}

TEST(DocumentReaderTest, AFileIsADocument) {
  EXPECT_THAT(read("a\nb\n", {}), ElementsAre("a\nb\n"));
  EXPECT_TRUE(read("", {}).empty());
}

TEST(DocumentReaderTest, ALineIsADocument) {
  EXPECT_THAT(read("a\r\nb c\n\n\r\n\rd\nlast", kLines), ElementsAre("a", "b c", "\rd", "last"));
  EXPECT_THAT(read("a\n", kLines), ElementsAre("a"));
  EXPECT_TRUE(read("\n\n", kLines).empty());
}

TEST(DocumentReaderTest, ASeparatorEndsADocument) {
  EXPECT_THAT(read("<|>a\n<|><|>b<|<|>", kMarks), ElementsAre("a\n", "b<|"));
}

TEST(DocumentReaderTest, NullBytesAndWhatIsNoUtf8AreKept) {
  const std::string text("a\0\xff\n\xc3", 5);
  EXPECT_THAT(read(text, kLines), ElementsAre(text.substr(0, 3), "\xc3"));
}

TEST(DocumentReaderTest, GzipIsReadAsPlainText) {
  const TestFolder folder;
  write_gzip(folder / "a.gz", "one\ntwo\n");
  DocumentReader reader(folder / "a.gz", kLines);
  EXPECT_THAT(read_all(reader), ElementsAre("one", "two"));
}

// Whatever the size of the parts, and wherever the borders lie in them.
TEST(DocumentReaderTest, PartsJoinToTheDocuments) {
  const TestFolder folder;
  std::mt19937 generator(5);
  for (int round = 0; round < 60; ++round) {
    std::string text;
    for (int i = 0; i < 40; ++i) text += std::array{"ab ", "c", "\n", "\r\n", "<|>", "<|", " "}[generator() % 7];
    write_bytes(folder / "a.txt", text);
    for (const DocumentOptions& options : {DocumentOptions{}, kLines, kMarks}) {
      DocumentReader whole(folder / "a.txt", options);
      DocumentReader reader(
          folder / "a.txt", options, [](std::string_view part) { return part.empty() ? 0 : part.size() - 1; },
          1 + generator() % 9);
      std::vector<std::string> documents;
      bool begins = true;
      while (const auto part = reader.next()) {
        if (begins) documents.emplace_back();
        documents.back() += part->text;
        begins = part->ends_document;
      }
      EXPECT_TRUE(begins);
      EXPECT_EQ(documents, read_all(whole)) << text;
    }
  }
}

TEST(DocumentReaderTest, SeekGoesBackToADocument) {
  const TestFolder folder;
  write_bytes(folder / "a.txt", "one\ntwo\nthree");
  write_gzip(folder / "a.gz", "one\ntwo\nthree");
  for (const char* name : {"a.txt", "a.gz"}) {
    DocumentReader reader(folder / name, kLines);
    reader.next();
    const int64_t offset = reader.offset();
    EXPECT_EQ(offset, 4);
    EXPECT_THAT(read_all(reader), ElementsAre("two", "three"));
    reader.seek(offset);
    EXPECT_THAT(read_all(reader), ElementsAre("two", "three"));
  }
}

TEST(DocumentReaderTest, BadFilesAreNamed) {
  const TestFolder folder;
  const auto error_of = [&](const std::string& name) {
    return error_text<DataError>([&] {
      DocumentReader reader(folder / name, {});
      read_all(reader);
    });
  };
  EXPECT_THAT(error_of("none.txt"), HasSubstr("cannot open " + (folder / "none.txt").string() + ": No such file"));
  EXPECT_THAT(error_of("."), HasSubstr("is a folder, not a file"));
  write_bytes(folder / "plain.gz", "text");
  EXPECT_THAT(error_of("plain.gz"), HasSubstr("plain.gz is damaged, or no gzip file as its name says"));
  std::mt19937 generator(1);
  write_gzip(folder / "a.gz", random_bytes(generator, 4000));
  const std::string bytes = read_bytes(folder / "a.gz");
  for (const size_t missing : {size_t{1}, size_t{8}, size_t{9}, bytes.size() / 2}) {
    write_bytes(folder / "cut.gz", bytes.substr(0, bytes.size() - missing));
    EXPECT_THAT(error_of("cut.gz"), HasSubstr("cut.gz is cut off or damaged")) << missing;
  }
  std::string damaged = bytes;
  damaged[damaged.size() / 2] = static_cast<char>(~damaged[damaged.size() / 2]);
  write_bytes(folder / "damaged.gz", damaged);
  EXPECT_THAT(error_of("damaged.gz"), HasSubstr("damaged.gz is cut off or damaged"));
}

TEST(DocumentReaderTest, AnEmptySeparatorIsAnError) {
  EXPECT_THAT(error_text<ConfigError>([] { DocumentReader("a", {.border = DocumentBorder::kSeparator}); }),
              HasSubstr("the separator of documents must not be empty"));
}

}  // namespace
}  // namespace levin
