#include "trainer/data/tables/csv_file.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <string>

#include "tests/trainer/checkpoint/test_files.h"
#include "tests/trainer/core/error_text.h"
#include "trainer/core/error.h"

namespace levin {
namespace {

using Records = std::vector<std::vector<std::string>>;

class CsvFileTest : public testing::Test {
 protected:
  Records read(const std::string& text, char separator = ',') {
    write_bytes(path_, text);
    return read_file(separator);
  }
  Records read_file(char separator = ',') {
    CsvFile file(path_, separator);
    Records records;
    lines_.clear();
    std::vector<std::string_view> fields;
    while (file.next(fields)) {
      records.emplace_back(fields.begin(), fields.end());
      lines_.push_back(file.line());
    }
    return records;
  }
  std::string error(const std::string& text) {
    return error_text<DataError>([&] { read(text); });
  }

  TestFolder folder_;
  std::filesystem::path path_ = folder_ / "a.csv";
  std::vector<int64_t> lines_;
};

TEST_F(CsvFileTest, SplitsLinesAtSeparators) {
  EXPECT_EQ(read("a,b\n1,2\n"), (Records{{"a", "b"}, {"1", "2"}}));
  EXPECT_EQ(read("a,b\n1,2"), (Records{{"a", "b"}, {"1", "2"}}));  // no line end at the end
  EXPECT_EQ(read("a,b\r\n1,2\r\n"), (Records{{"a", "b"}, {"1", "2"}}));
  EXPECT_EQ(read("a;b,c\n", ';'), (Records{{"a", "b,c"}}));
  EXPECT_EQ(read("a\tb\n", '\t'), (Records{{"a", "b"}}));
}

TEST_F(CsvFileTest, KeepsEmptyFields) {
  EXPECT_EQ(read(",\n"), (Records{{"", ""}}));
  EXPECT_EQ(read("1,,3\n,,"), (Records{{"1", "", "3"}, {"", "", ""}}));
  EXPECT_EQ(read("\"\"\n"), (Records{{""}}));
}

TEST_F(CsvFileTest, PassesOverEmptyLinesAndTheByteOrderMark) {
  EXPECT_EQ(read("\n\r\n1,2\n\n\n3,4\n\n"), (Records{{"1", "2"}, {"3", "4"}}));
  EXPECT_EQ(lines_, (std::vector<int64_t>{3, 6}));
  EXPECT_EQ(read("\xef\xbb\xbf"
                 "a,b\n"),
            (Records{{"a", "b"}}));
  EXPECT_EQ(read(""), Records{});
  EXPECT_EQ(read("\n\n"), Records{});
}

TEST_F(CsvFileTest, QuotedFieldsHoldSeparatorsLineEndsAndQuotes) {
  EXPECT_EQ(read("\"a,b\",\"c\nd\"\n1,2\n"), (Records{{"a,b", "c\nd"}, {"1", "2"}}));
  EXPECT_EQ(lines_, (std::vector<int64_t>{1, 3}));
  EXPECT_EQ(read("\"say \"\"hi\"\"\",\"\"\"\"\n"), (Records{{"say \"hi\"", "\""}}));
  EXPECT_EQ(read("\"a\r\nb\",\"c\"\r\nd,e"), (Records{{"a\r\nb", "c"}, {"d", "e"}}));
  EXPECT_EQ(read("x,\"y\""), (Records{{"x", "y"}}));
  EXPECT_EQ(read("5\" disk,b\n"), (Records{{"5\" disk", "b"}}));  // a quote that begins no field
}

TEST_F(CsvFileTest, RecordsMayEndAnywhereInTheBuffer) {
  // Longer than the buffer, with a period that is prime, so that its end falls on every place of a record.
  const std::vector<std::string> record = {"12", "a \"b\",\n c", "", "xyz"};
  const std::string line = "12,\"a \"\"b\"\",\n c\",,xyz\r\n";
  ASSERT_EQ(line.size(), 23u);
  constexpr size_t kRecords = 400'000;
  std::string text;
  for (size_t i = 0; i < kRecords; ++i) text += line;
  const Records records = read(text);
  ASSERT_EQ(records.size(), kRecords);
  for (const auto& got : records) ASSERT_EQ(got, record);
  EXPECT_EQ(lines_.back(), 2 * (static_cast<int64_t>(kRecords) - 1) + 1);
}

TEST_F(CsvFileTest, AFieldMayBeLongerThanTheBuffer) {
  const std::string field(5'000'000, 'x');
  EXPECT_EQ(read("a," + field + "\n\"" + field + "\",b\n"), (Records{{"a", field}, {field, "b"}}));
}

TEST_F(CsvFileTest, ReadsCompressedFiles) {
  gzFile out = gzopen(path_.c_str(), "wb");
  ASSERT_EQ(gzputs(out, "a,b\n1,2\n"), 8);
  ASSERT_EQ(gzclose(out), Z_OK);
  EXPECT_EQ(read_file(), (Records{{"a", "b"}, {"1", "2"}}));

  const std::string whole = read_bytes(path_);
  for (size_t length = 1; length < whole.size(); ++length) {
    write_bytes(path_, whole.substr(0, length));
    if (length < 3) continue;  // zlib takes the rest for a file that is not compressed
    EXPECT_NE(error_text<DataError>([&] { read_file(); }).find("cut off or damaged"), std::string::npos) << length;
  }
}

TEST_F(CsvFileTest, BrokenQuotesAreNamedWithTheirLine) {
  EXPECT_EQ(error("a,b\n1,\"2\n3,4\n"),
            "[CsvFile] " + path_.string() + ", line 2, field 2: the quote at its beginning is never closed.");
  EXPECT_EQ(error("a,b\n\"1\nx\"y,2\n"), "[CsvFile] " + path_.string() +
                                             ", line 3, field 1: there must be a separator or the end of the line "
                                             "after the closing quote.");
}

TEST_F(CsvFileTest, TheSeparatorMustSeparate) {
  for (const char separator : {'"', '\n', '\r'}) {
    EXPECT_EQ(error_text<ConfigError>([&] { read("a", separator); }),
              "[CsvFile] the separator must not be a quote or a line end.");
  }
}

}  // namespace
}  // namespace levin
