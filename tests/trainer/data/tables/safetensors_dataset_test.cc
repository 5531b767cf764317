#include "trainer/data/tables/safetensors_dataset.h"

#include <gtest/gtest.h>

#include "tests/trainer/checkpoint/test_files.h"
#include "tests/trainer/core/error_text.h"
#include "trainer/core/error.h"
#include "trainer/core/files/safetensors.h"

namespace levin {
namespace {

class SafetensorsDatasetTest : public testing::Test {
 protected:
  void write(const NamedTensors& tensors) { write_safetensors(path_, tensors); }
  std::string error(const std::vector<std::string>& tensors = {}) {
    return error_text<DataError>([&] { SafetensorsDataset(path_, tensors); });
  }
  static at::Tensor bytes(const std::string& values, at::IntArrayRef shape, at::ScalarType dtype = at::kByte) {
    return tensor_of(values, shape, dtype);
  }

  TestFolder folder_;
  std::filesystem::path path_ = folder_ / "a.safetensors";
};

TEST_F(SafetensorsDatasetTest, ABatchHasAFieldForEachTensor) {
  write({{"x", floats({1, 2, 3, 4, 5, 6}).view({3, 2})}, {"y", bytes("abc", {3})}});
  const SafetensorsDataset dataset(path_);
  EXPECT_EQ(dataset.size(), 3);
  const std::vector<int64_t> indices = {2, 0};
  const Batch batch = dataset.get_batch(indices, {});
  EXPECT_EQ(batch.describe(), "{x: float32 [2, 2], y: uint8 [2]}");
  EXPECT_EQ(bytes_of(batch["x"].tensor()), bytes_of(floats({5, 6, 1, 2})));
  EXPECT_EQ(bytes_of(batch["y"].tensor()), "ca");
}

TEST_F(SafetensorsDatasetTest, TensorsAreChosenByName) {
  write({{"x", bytes("abc", {3})}, {"y", bytes("def", {3})}, {"weights", bytes("z", {1})}});
  const SafetensorsDataset dataset(path_, {"y", "x"});
  const std::vector<int64_t> indices = {1};
  EXPECT_EQ(dataset.get_batch(indices, {}).fields()[0].first, "y");
  EXPECT_EQ(bytes_of(dataset.get_batch(indices, {})["y"].tensor()), "e");
}

TEST_F(SafetensorsDatasetTest, DataThatAreNotAlignedAreRead) {
  // Three bytes come before the floats, as other programs may order them.
  const std::string header =
      R"({"y":{"dtype":"U8","shape":[1,3],"data_offsets":[0,3]},"x":{"dtype":"F32","shape":[1],"data_offsets":[3,7]}})";
  write_bytes(path_, safetensors_bytes(header, "abc" + bytes_of(floats({2.5}))));
  const std::vector<int64_t> indices = {0};
  EXPECT_EQ(bytes_of(SafetensorsDataset(path_).get_batch(indices, {})["x"].tensor()), bytes_of(floats({2.5})));
}

TEST_F(SafetensorsDatasetTest, ReadsBools) {
  write({{"mask", bytes(std::string("\1\0\1", 3), {3}, at::kBool)}});
  const std::vector<int64_t> indices = {1, 2};
  EXPECT_EQ(bytes_of(SafetensorsDataset(path_).get_batch(indices, {})["mask"].tensor()), std::string("\0\1", 2));
}

TEST_F(SafetensorsDatasetTest, TensorsThatDoNotFitTogetherAreNamed) {
  write({{"x", bytes("abc", {3})}, {"y", bytes("de", {2})}});
  EXPECT_EQ(error(), "[SafetensorsDataset] " + path_.string() +
                         ": all tensors must have as many rows, but \"x\" has 3 and \"y\" has 2. Name those that you "
                         "want.");
  write({{"x", bytes("a", {})}});
  EXPECT_NE(error().find("the tensor \"x\" must be [N, ...], one row a sample, got a scalar"), std::string::npos);
}

TEST_F(SafetensorsDatasetTest, ATensorThatIsMissingIsNamed) {
  write({{"image", bytes("abc", {3})}});
  EXPECT_EQ(error({"imag"}),
            "[SafetensorsDataset] " + path_.string() + " has no tensor \"imag\"; did you mean \"image\"?.");
}

TEST_F(SafetensorsDatasetTest, AMissingOrDamagedFileIsADataError) {
  EXPECT_NE(error().find("No such file"), std::string::npos);
  write({{"x", bytes("abc", {3})}});
  write_bytes(path_, read_bytes(path_).substr(0, 20));
  EXPECT_NE(error().find(path_.string()), std::string::npos);
  write({});
  EXPECT_NE(error().find("has no tensors"), std::string::npos);
}

}  // namespace
}  // namespace levin
