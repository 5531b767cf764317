#include "callbacks/prediction_file.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "tests/trainer/checkpoint/test_files.h"
#include "tests/trainer/core/error_text.h"
#include "trainer/core/error.h"
#include "trainer/core/files/safetensors.h"

namespace levin {
namespace {

class PredictionFileTest : public testing::Test {
 protected:
  std::string csv(const std::vector<Batch>& predictions) {
    write_predictions(folder_ / "p.csv", predictions);
    return read_bytes(folder_ / "p.csv");
  }
  template <class Error>
  std::string write_error(const std::filesystem::path& file, const std::vector<Batch>& predictions) {
    return error_text<Error>([&] { write_predictions(file, predictions); });
  }

  TestFolder folder_;
};

Batch::Fields two_fields(int64_t first_class) {
  return {{"class", at::arange(first_class, first_class + 2, at::kLong)},
          {"probability", floats({0.1f, 0.9f, 0.25f, 0.75f}).reshape({2, 2})}};
}

TEST_F(PredictionFileTest, CsvHasOneRowASampleAndOneColumnAValue) {
  EXPECT_EQ(csv({Batch(two_fields(3)), Batch(two_fields(7))}),
            "class,probability_0,probability_1\n3,0.1,0.9\n4,0.25,0.75\n7,0.1,0.9\n8,0.25,0.75\n");
}

TEST_F(PredictionFileTest, CsvNamesABareTensorPrediction) {
  EXPECT_EQ(csv({Batch(floats({0.5f, -2.0f})), Batch(floats({3.0f}))}), "prediction\n0.5\n-2\n3\n");
}

TEST_F(PredictionFileTest, CsvNumbersTheItemsOfAList) {
  EXPECT_EQ(csv({Batch::of(floats({0.5f}), floats({1.5f}))}), "0,1\n0.5,1.5\n");
}

TEST_F(PredictionFileTest, CsvJoinsNestedNamesWithADot) {
  EXPECT_EQ(csv({Batch(Batch::Fields{{"a", Batch(Batch::Fields{{"b", floats({2.5f})}})}})}), "a.b\n2.5\n");
}

TEST_F(PredictionFileTest, CsvDoublesHaveAllTheirDigits) {
  EXPECT_EQ(csv({Batch(floats({1.0f, 2.0f}).to(at::kDouble).div(3))}),
            "prediction\n0.3333333333333333\n0.6666666666666666\n");
}

TEST_F(PredictionFileTest, CsvTakesNoMoreThanTwoDimensions) {
  EXPECT_EQ(write_error<DataError>(folder_ / "p.csv", {Batch(at::zeros({2, 3, 4}))}),
            "[predict] \"prediction\" is float32 [2, 3, 4]; a .csv takes [B] and [B, C]. Write a .safetensors file "
            "instead.");
  EXPECT_TRUE(folder_.names().empty());
}

TEST_F(PredictionFileTest, SafetensorsTakesAnyShape) {
  write_predictions(folder_ / "p.safetensors", {Batch(Batch::Fields{{"x", at::zeros({2, 3, 4})}}),
                                                Batch(Batch::Fields{{"x", at::ones({1, 3, 4})}})});
  const NamedTensors tensors = read_safetensors(folder_ / "p.safetensors");
  ASSERT_EQ(tensors.size(), 1u);
  EXPECT_EQ(tensors[0].first, "x");
  EXPECT_EQ(tensors[0].second.sizes(), (std::vector<int64_t>{3, 3, 4}));
  EXPECT_EQ(tensors[0].second.sum().item<float>(), 12.0f);
}

TEST_F(PredictionFileTest, SafetensorsKeepsTypesAndValues) {
  write_predictions(folder_ / "p.safetensors", {Batch(two_fields(3)), Batch(two_fields(7))});
  const SafetensorsFile file(folder_ / "p.safetensors");
  EXPECT_TRUE(file.read("class").equal(floats({3, 4, 7, 8}).to(at::kLong)));
  EXPECT_TRUE(
      file.read("probability").equal(floats({0.1f, 0.9f, 0.25f, 0.75f, 0.1f, 0.9f, 0.25f, 0.75f}).reshape({4, 2})));
}

TEST_F(PredictionFileTest, ScalarIsOneRow) {
  EXPECT_EQ(csv({Batch(at::scalar_tensor(1.5)), Batch(at::scalar_tensor(2.5))}), "prediction\n1.5\n2.5\n");
}

TEST_F(PredictionFileTest, OtherEndingsAreErrors) {
  EXPECT_EQ(error_text<ConfigError>([] { check_prediction_file("p.txt"); }),
            "[predict] the output must end in .safetensors or .csv, got p.txt.");
  EXPECT_EQ(write_error<ConfigError>("p", {}), "[predict] the output must end in .safetensors or .csv, got p.");
  check_prediction_file("p.csv");
  check_prediction_file("p.safetensors");
}

TEST_F(PredictionFileTest, MissingFolderIsAnError) {
  EXPECT_EQ(error_text<ConfigError>([] { check_prediction_file("/nowhere/p.csv"); }),
            "[predict] cannot write /nowhere/p.csv: there is no folder /nowhere.");
}

TEST_F(PredictionFileTest, FolderIsNoFile) {
  const auto path = folder_ / "p.csv";
  std::filesystem::create_directory(path);
  EXPECT_EQ(error_text<ConfigError>([&] { check_prediction_file(path); }),
            "[predict] cannot write " + path.string() + ": it is a folder.");
}

// A full disk.
TEST_F(PredictionFileTest, FailedWriteIsAnOutputError) {
  for (const char* ending : {".csv", ".safetensors"}) {
    const auto path = folder_ / ("full" + std::string(ending));
    const auto temporary = folder_ / (".full" + std::string(ending) + ".tmp");
    std::filesystem::create_symlink("/dev/full", temporary);
    const std::string text = write_error<OutputError>(path, {Batch(floats({1.0f}))});
    EXPECT_EQ(text.find("[predict] cannot "), 0u) << text;
    EXPECT_NE(text.find(temporary.string()), std::string::npos) << text;
    EXPECT_TRUE(folder_.names().empty());
    EXPECT_NE(text.find("No space left on device"), std::string::npos) << text;
  }
}

TEST_F(PredictionFileTest, BatchesMustHaveTheSameFields) {
  EXPECT_EQ(write_error<DataError>(folder_ / "p.csv", {Batch(two_fields(0)), Batch(floats({1.0f}))}),
            "[predict] every batch must have the same fields, got float32 [1] after {class: int64 [2], probability: "
            "float32 [2, 2]}.");
}

TEST_F(PredictionFileTest, FieldsMustHaveTheSameNumberOfRows) {
  EXPECT_EQ(
      write_error<DataError>(folder_ / "p.csv", {Batch(Batch::Fields{{"a", floats({1, 2})}, {"b", floats({1})}})}),
      "[predict] \"b\" has 1 rows, but \"a\" has 2.");
}

}  // namespace
}  // namespace levin
