#include "trainer/data/tables/numpy_dataset.h"

#include <gtest/gtest.h>

#include "tests/trainer/checkpoint/test_files.h"
#include "tests/trainer/core/error_text.h"
#include "tests/trainer/data/tables/numpy_test_file.h"
#include "trainer/core/error.h"

namespace levin {
namespace {

class NumpyDatasetTest : public testing::Test {
 protected:
  NumpyDatasetTest() {
    write_bytes(folder_ / "x.npy", numpy_bytes(numpy_header("|u1", "(3, 2)"), "abcdef"));
    write_bytes(folder_ / "y.npy", numpy_bytes(numpy_header("|i1", "(3,)"), std::string("\1\2\3", 3)));
  }
  TestFolder folder_;
};

TEST_F(NumpyDatasetTest, ABatchHasTheRowsOfEachFile) {
  const NumpyDataset dataset({folder_ / "x.npy", folder_ / "y.npy"});
  EXPECT_EQ(dataset.size(), 3);
  const std::vector<int64_t> indices = {2, 0};
  const auto [x, y] = dataset.get_batch(indices, {}).tensors<2>();
  EXPECT_EQ(x.sizes(), (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(bytes_of(x), "efab");
  EXPECT_EQ(bytes_of(y), "\3\1");
}

TEST_F(NumpyDatasetTest, FilesInFortranOrderHaveTheSameRows) {
  write_bytes(folder_ / "f.npy", numpy_bytes(numpy_header("|u1", "(3, 2)", /*is_fortran_order=*/true), "acebdf"));
  const NumpyDataset dataset({folder_ / "f.npy"});
  const std::vector<int64_t> indices = {2, 0};
  EXPECT_EQ(bytes_of(dataset.get_batch(indices, {})[0].tensor().contiguous()), "efab");
}

TEST_F(NumpyDatasetTest, NamesMakeFields) {
  const NumpyDataset dataset({folder_ / "x.npy", folder_ / "y.npy"}, {"x", "y"});
  const std::vector<int64_t> indices = {1};
  EXPECT_EQ(bytes_of(dataset.get_batch(indices, {})["x"].tensor()), "cd");
  EXPECT_EQ(bytes_of(dataset.get_batch(indices, {})["y"].tensor()), "\2");
}

TEST_F(NumpyDatasetTest, WritingToABatchLeavesTheDatasetAsItIs) {
  const NumpyDataset dataset({folder_ / "x.npy"});
  const std::vector<int64_t> indices = {0, 1};
  dataset.get_batch(indices, {})[0].tensor().fill_(0);
  EXPECT_EQ(bytes_of(dataset.get_batch(indices, {})[0].tensor()), "abcd");
}

TEST_F(NumpyDatasetTest, FilesThatDoNotFitTogetherAreNamed) {
  write_bytes(folder_ / "z.npy", numpy_bytes(numpy_header("|u1", "(2,)"), "ab"));
  const std::string text = error_text<DataError>([&] { NumpyDataset({folder_ / "x.npy", folder_ / "z.npy"}); });
  EXPECT_NE(text.find("x.npy has 3 and "), std::string::npos) << text;
  EXPECT_NE(text.find("z.npy has 2."), std::string::npos) << text;
  write_bytes(folder_ / "scalar.npy", numpy_bytes(numpy_header("|u1", "()"), "a"));
  EXPECT_NE(error_text<DataError>([&] { NumpyDataset({folder_ / "scalar.npy"}); }).find("got a scalar"),
            std::string::npos);
}

TEST_F(NumpyDatasetTest, FilesAndNamesMustFit) {
  EXPECT_EQ(error_text<ConfigError>([] { NumpyDataset({}, {}); }),
            "[NumpyDataset] there must be at least one file, got none.");
  EXPECT_EQ(error_text<ConfigError>([&] {
              NumpyDataset({folder_ / "x.npy"}, {"x", "y"});
            }),
            "[NumpyDataset] each file needs a name, or none has one, got 2 names for 1 files.");
}

}  // namespace
}  // namespace levin
