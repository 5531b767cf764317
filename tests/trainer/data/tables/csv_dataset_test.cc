#include "trainer/data/tables/csv_dataset.h"

#include <ATen/ops/equal.h>
#include <ATen/ops/isnan.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <limits>
#include <numeric>

#include "tests/trainer/checkpoint/test_files.h"
#include "tests/trainer/core/error_text.h"
#include "trainer/core/error.h"

namespace levin {
namespace {

class CsvDatasetTest : public testing::Test {
 protected:
  CsvDataset read(const std::string& text, const CsvOptions& options = {}) {
    write_bytes(path_, text);
    return CsvDataset(path_, options);
  }
  Batch all(const std::string& text, const CsvOptions& options = {}) {
    const CsvDataset dataset = read(text, options);
    std::vector<int64_t> indices(static_cast<size_t>(dataset.size()));
    std::iota(indices.begin(), indices.end(), 0);
    return dataset.get_batch(indices, {});
  }
  std::string data_error(const std::string& text, const CsvOptions& options = {}) {
    return error_text<DataError>([&] { read(text, options); });
  }
  std::string config_error(const std::string& text, const CsvOptions& options) {
    return error_text<ConfigError>([&] { read(text, options); });
  }
  /// The beginning of an error text.
  std::string at_line(int line) const { return "[CsvDataset] " + path_.string() + ", line " + std::to_string(line); }

  TestFolder folder_;
  std::filesystem::path path_ = folder_ / "a.csv";
};

void expect_floats(const Batch& batch, std::vector<float> values, std::vector<int64_t> shape) {
  EXPECT_EQ(batch.tensor().scalar_type(), at::kFloat);
  EXPECT_EQ(batch.tensor().sizes(), shape);
  EXPECT_EQ(bytes_of(batch.tensor().contiguous()), bytes_of(floats(values)));
}

void expect_integers(const Batch& batch, std::vector<int64_t> values, std::vector<int64_t> shape) {
  EXPECT_EQ(batch.tensor().sizes(), shape);
  EXPECT_TRUE(at::equal(batch.tensor().flatten(), at::tensor(values, at::kLong))) << batch.tensor().scalar_type();
}

TEST_F(CsvDatasetTest, EveryColumnIsAFeatureByDefault) {
  const Batch batch = all("a,b\n1,2.5\n-3,4e2\n");
  EXPECT_EQ(batch.size(), 1u);
  expect_floats(batch["features"], {1, 2.5, -3, 400}, {2, 2});
}

TEST_F(CsvDatasetTest, ColumnsAreChosenByName) {
  const std::string text = "id,y,b,a\n7,10,2,1\n8,20,4,3\n";
  const Batch batch = all(text, {.features = {"a", "b"}, .targets = {"y"}});
  expect_floats(batch["features"], {1, 2, 3, 4}, {2, 2});
  expect_floats(batch["target"], {10, 20}, {2});
  // All but the targets, in the file's order.
  expect_floats(all(text, {.targets = {"y"}})["features"], {7, 2, 1, 8, 4, 3}, {2, 3});
}

TEST_F(CsvDatasetTest, TargetsHaveTheirType) {
  const std::string text = "x,y,z\n1,10,2\n2,20,4\n";
  expect_integers(all(text, {.targets = {"y"}, .target_type = "int64"})["target"], {10, 20}, {2});
  expect_integers(all(text, {.targets = {"z", "y"}, .target_type = "int64"})["target"], {2, 10, 4, 20}, {2, 2});
  expect_floats(all(text, {.targets = {"y", "z"}})["target"], {10, 2, 20, 4}, {2, 2});
}

TEST_F(CsvDatasetTest, CategoriesAreNumbersOfTheSortedTexts) {
  const CsvOptions options{.targets = {"kind"}, .categories = {"kind", "town"}};
  const CsvDataset dataset = read("town,x,kind\nRome,1,dog\nOslo,2,cat\nRome,3,cow\n", options);
  const std::vector<int64_t> indices = {0, 1, 2};
  const Batch batch = dataset.get_batch(indices, {});
  expect_floats(batch["features"], {1, 2, 3}, {3, 1});
  expect_integers(batch["categories"], {1, 0, 1}, {3, 1});
  expect_integers(batch["target"], {2, 0, 1}, {3});
  EXPECT_EQ(dataset.vocabularies().at("kind"), (std::vector<std::string>{"cat", "cow", "dog"}));
  EXPECT_EQ(dataset.vocabularies().at("town"), (std::vector<std::string>{"Oslo", "Rome"}));
  EXPECT_EQ(dataset.feature_names(), (std::vector<std::string>{"town", "x"}));
}

TEST_F(CsvDatasetTest, AGivenVocabularyDecidesTheNumbers) {
  const CsvOptions options{.categories = {"c"}, .vocabularies = {{"c", {"z", "a", "m"}}}};
  expect_integers(all("c\na\nz\n", options)["categories"], {1, 0}, {2, 1});
  EXPECT_EQ(data_error("c\na\nq\n", options), at_line(3) +
                                                  ", column \"c\": \"q\" is not in the vocabulary of the column, which "
                                                  "the training data have.");
  EXPECT_NE(config_error("c\na\n", {.categories = {"c"}, .vocabularies = {{"c", {"a", "a"}}}}).find("more than once"),
            std::string::npos);
}

TEST_F(CsvDatasetTest, WithoutAHeaderColumnsAreNumbers) {
  const Batch batch = all("1,2\n3,4\n", {.features = {"1"}, .targets = {"0"}, .has_header = false});
  expect_floats(batch["features"], {2, 4}, {2, 1});
  expect_floats(batch["target"], {1, 3}, {2});
}

TEST_F(CsvDatasetTest, ReadsNumbersAsTheyAreWritten) {
  expect_floats(all("a\n +1.5 \n1e-50\n\"2\"\n-inf\n16777217\n")["features"],
                {1.5F, 0.0F, 2.0F, -std::numeric_limits<float>::infinity(), 16777216.0F}, {5, 1});
  for (const char* wrong : {"abc", "1e39", "1,5", "0x10", "1 2", "+-1", "--1", "1.5.2"}) {
    const std::string text = data_error("x,a\n0,\"" + std::string(wrong) + "\"\n");
    EXPECT_EQ(text, at_line(2) + ", column \"a\": \"" + wrong +
                        "\" is no number of float32. Name the column in categories if it holds texts.");
  }
  const CsvOptions options{.targets = {"a"}, .target_type = "int64"};
  for (const char* wrong : {"1.0", "9223372036854775808", "x"}) {
    EXPECT_NE(data_error("x,a\n0,\"" + std::string(wrong) + "\"\n", options).find("is no integer"), std::string::npos);
  }
}

TEST_F(CsvDatasetTest, AMissingValueIsAnErrorUnlessItMayBeNan) {
  for (const char* missing : {"", "NA", "nan"}) {
    const std::string text = "a,b\n1,2\n" + std::string(missing) + ",3\n";
    EXPECT_EQ(data_error(text),
              at_line(3) + ", column \"a\": \"" + missing + "\" is a missing value. Set missing to nan to allow that.");
    const at::Tensor features = all(text, {.missing = "nan"})["features"].tensor();
    EXPECT_EQ(features[0][0].item<float>(), 1.0F);
    EXPECT_TRUE(std::isnan(features[1][0].item<float>()));
    EXPECT_EQ(features[1][1].item<float>(), 3.0F);
  }
  // What is no number does not count as missing.
  EXPECT_NE(data_error("a\nabc\n", {.missing = "nan"}).find("is no number"), std::string::npos);
  EXPECT_NE(data_error("a\nNA\n", {.missing = "nan", .missing_values = {"-"}}).find("is no number"), std::string::npos);
}

TEST_F(CsvDatasetTest, AMissingTextIsACategoryOfItsOwn) {
  const CsvOptions options{.categories = {"c"}, .missing = "nan"};
  const CsvDataset dataset = read("c,x\nb,1\nNA,2\n,3\na,4\n", options);
  EXPECT_EQ(dataset.vocabularies().at("c"), (std::vector<std::string>{"", "a", "b"}));
  const std::vector<int64_t> indices = {0, 1, 2, 3};
  expect_integers(dataset.get_batch(indices, {})["categories"], {2, 0, 0, 1}, {4, 1});
}

TEST_F(CsvDatasetTest, ATargetMustNotBeMissing) {
  for (const char* type : {"float32", "int64"}) {
    const CsvOptions options{.targets = {"y"}, .target_type = type, .missing = "nan"};
    EXPECT_EQ(data_error("x,y\n1,\n", options),
              at_line(2) + ", column \"y\": \"\" is a missing value, which a target must not be.");
  }
}

TEST_F(CsvDatasetTest, TheLineOfAnErrorCountsLinesWithinQuotes) {
  EXPECT_NE(data_error("t,x\n\"a\nb\",1\nc,oops\n", {.categories = {"t"}}).find(", line 4, column \"x\": \"oops\""),
            std::string::npos);
}

TEST_F(CsvDatasetTest, RecordsMustHaveAsManyFields) {
  EXPECT_EQ(data_error("a,b\n1,2\n3\n"), at_line(3) + ": a record must have 2 fields as the first has, got 1.");
  EXPECT_EQ(data_error("a,b\n1,2,3\n"), at_line(2) + ": a record must have 2 fields as the first has, got 3.");
}

TEST_F(CsvDatasetTest, FilesWithoutRecordsOrWithTwoEqualNamesAreRefused) {
  EXPECT_NE(data_error("").find("has no records"), std::string::npos);
  EXPECT_NE(data_error("a,b\n").find("has no records"), std::string::npos);
  EXPECT_NE(data_error("a,b,a\n1,2,3\n").find("two columns are called \"a\""), std::string::npos);
}

TEST_F(CsvDatasetTest, AColumnThatIsMissingIsNamed) {
  EXPECT_EQ(data_error("age,size\n1,2\n", {.targets = {"siz"}}),
            "[CsvDataset] " + path_.string() + " has no column \"siz\"; did you mean \"size\"?.");
}

TEST_F(CsvDatasetTest, OptionsMustFitTogether) {
  EXPECT_NE(config_error("a,b\n1,2\n", {.features = {"a"}, .categories = {"b"}}).find("column \"b\" is neither"),
            std::string::npos);
  EXPECT_NE(config_error("a,b\n1,2\n", {.targets = {"a", "b"}, .categories = {"b"}}).find("must be of one type"),
            std::string::npos);
  EXPECT_NE(config_error("a\n1\n", {.separator = "ab"}).find("separator must be one character"), std::string::npos);
  EXPECT_NE(config_error("a\n1\n", {.missing = "zero"}).find("missing must be one of: error, nan, got zero"),
            std::string::npos);
}

TEST_F(CsvDatasetTest, TargetsMayBeLackedWhereThatIsAllowed) {
  const CsvOptions options{.targets = {"y"}, .may_lack_targets = true};
  EXPECT_EQ(all("x\n1\n", options).size(), 1u);
  expect_floats(all("x,y\n1,2\n", options)["target"], {2}, {1});
}

TEST_F(CsvDatasetTest, ReadsALargeFile) {
  constexpr int64_t kRecords = 100'000;
  constexpr int64_t kColumns = 10;
  std::string text = "a,b,c,d,e,f,g,h,i,y\n";
  for (int64_t i = 0; i < kRecords; ++i) {
    for (int64_t j = 0; j + 1 < kColumns; ++j) text += std::to_string(0.001 * static_cast<double>(i * j)) + ",";
    text += std::to_string(i % 10) + "\n";
  }
  write_bytes(path_, text);
  const auto begin = std::chrono::steady_clock::now();
  const CsvDataset dataset(path_, {.targets = {"y"}, .target_type = "int64"});
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  RecordProperty("megabytes_per_second", std::to_string(static_cast<double>(text.size()) / 1e6 / taken.count()));
  EXPECT_EQ(dataset.size(), kRecords);
  const std::vector<int64_t> last = {kRecords - 1};
  const Batch batch = dataset.get_batch(last, {});
  EXPECT_EQ(batch["target"].tensor().item<int64_t>(), 9);
  EXPECT_EQ(batch["features"].tensor()[0][8].item<float>(), 799.992F);
}

}  // namespace
}  // namespace levin
