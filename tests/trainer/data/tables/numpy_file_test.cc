#include "trainer/data/tables/numpy_file.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/complex.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/remainder.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>

#include "tests/trainer/checkpoint/test_files.h"
#include "tests/trainer/core/error_text.h"
#include "tests/trainer/data/tables/numpy_test_file.h"
#include "trainer/core/error.h"

namespace levin {
namespace {

const std::filesystem::path kGolden = "tests/parity/numpy";

at::Tensor golden(const std::string& name) { return read_numpy(kGolden / (name + ".npy")); }

std::string numpy_error(const std::filesystem::path& file) {
  return error_text<DataError>([&] { read_numpy(file); });
}

/// What golden.py writes.
at::Tensor ramp(at::ScalarType dtype) {
  at::Tensor values = at::arange(6).view({2, 3});
  if (dtype == at::kBool) values = at::remainder(values, 2);
  if (!c10::isComplexType(dtype)) return values.to(dtype);
  const at::Tensor real = values.to(c10::toRealValueType(dtype));
  return at::complex(real, at::zeros_like(real).sub(real));  // 0 - x, since -x would be -0
}

TEST(NumpyFileTest, ReadsWhatNumpyWritesInEachTypeByteOrderAndMemoryOrder) {
  const std::vector<std::pair<std::string, at::ScalarType>> dtypes = {
      {"b1", at::kBool},  {"i1", at::kChar},   {"i2", at::kShort},        {"i4", at::kInt},           {"i8", at::kLong},
      {"u1", at::kByte},  {"u2", at::kUInt16}, {"u4", at::kUInt32},       {"u8", at::kUInt64},        {"f2", at::kHalf},
      {"f4", at::kFloat}, {"f8", at::kDouble}, {"c8", at::kComplexFloat}, {"c16", at::kComplexDouble}};
  for (const auto& [name, dtype] : dtypes) {
    for (const char* order : {"_little", "_big", "_little_fortran", "_big_fortran"}) {
      const at::Tensor tensor = golden(name + order);
      EXPECT_EQ(tensor.scalar_type(), dtype) << name << order;
      EXPECT_EQ(tensor.sizes(), (std::vector<int64_t>{2, 3})) << name << order;
      EXPECT_EQ(bytes_of(tensor.contiguous()), bytes_of(ramp(dtype).contiguous())) << name << order;
    }
  }
}

TEST(NumpyFileTest, ReadsEachVersionOfTheFormat) {
  for (const char* name : {"version_1", "version_2", "version_3"})
    EXPECT_TRUE(at::equal(golden(name), ramp(at::kFloat)));
}

TEST(NumpyFileTest, ReadsOtherShapes) {
  EXPECT_EQ(golden("scalar").item<int64_t>(), 7);
  EXPECT_EQ(golden("scalar").dim(), 0);
  EXPECT_EQ(golden("empty").sizes(), (std::vector<int64_t>{0, 3}));
  const at::Tensor expected = at::arange(24, at::kInt).view({2, 3, 4});
  EXPECT_TRUE(at::equal(golden("three_dims"), expected));
  EXPECT_TRUE(at::equal(golden("three_dims_fortran"), expected));
}

TEST(NumpyFileTest, FortranOrderIsReadInPlaceWithItsStrides) {
  EXPECT_EQ(golden("three_dims_fortran").strides(), (std::vector<int64_t>{1, 2, 6}));
  EXPECT_EQ(golden("three_dims").strides(), (std::vector<int64_t>{12, 4, 1}));
}

TEST(NumpyFileTest, WritingToTheTensorLeavesTheFileAsItIs) {
  const TestFolder folder;
  const std::string bytes = numpy_bytes(numpy_header("<i4", "(2,)"), std::string("\1\0\0\0\2\0\0\0", 8));
  write_bytes(folder / "a.npy", bytes);
  {
    at::Tensor tensor = read_numpy(folder / "a.npy");
    tensor.add_(40);
    EXPECT_EQ(tensor[1].item<int>(), 42);
    EXPECT_EQ(read_numpy(folder / "a.npy")[1].item<int>(), 2);
  }
  EXPECT_EQ(read_bytes(folder / "a.npy"), bytes);
}

TEST(NumpyFileTest, TheTensorOutlivesTheNameOfItsFile) {
  const TestFolder folder;
  write_bytes(folder / "a.npy", numpy_bytes(numpy_header("|u1", "(3,)"), "abc"));
  const at::Tensor rows = read_numpy(folder / "a.npy").slice(0, 1, 3);
  std::filesystem::remove(folder / "a.npy");
  EXPECT_EQ(bytes_of(rows), "bc");
}

TEST(NumpyFileTest, DataThatAreNotAlignedAreCopied) {
  const TestFolder folder;
  const std::string header = "{'descr':'<i4','fortran_order':False,'shape':(1,)}\n";  // the data begin at byte 61
  write_bytes(folder / "a.npy", numpy_bytes(header, std::string("\7\0\0\0", 4)));
  const at::Tensor tensor = read_numpy(folder / "a.npy");
  EXPECT_EQ(tensor.item<int>(), 7);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.const_data_ptr()) % 4, 0u);
}

TEST(NumpyFileTest, TypesThatLibTorchDoesNotHaveAreRefused) {
  EXPECT_EQ(
      numpy_error(kGolden / "structured.npy"),
      "[read_numpy] tests/parity/numpy/structured.npy: structured arrays are not supported: save each field as an "
      "array of its own.");
  EXPECT_NE(numpy_error(kGolden / "object.npy").find("object arrays are not supported"), std::string::npos);
  EXPECT_NE(numpy_error(kGolden / "text.npy").find("or complex of 64 or 128 bits, got \"<U2\""), std::string::npos);
  EXPECT_NE(numpy_error(kGolden / "date.npy").find("got \"<M8[D]\""), std::string::npos);
}

TEST(NumpyFileTest, AFileCutAnywhereIsRefused) {
  const TestFolder folder;
  const std::string whole = read_bytes(kGolden / "f4_little.npy");
  for (size_t length = 0; length < whole.size(); ++length) {
    write_bytes(folder / "cut.npy", whole.substr(0, length));
    const std::string text = numpy_error(folder / "cut.npy");
    EXPECT_NE(text.find("cut.npy"), std::string::npos) << length << ": " << text;
  }
  write_bytes(folder / "cut.npy", whole.substr(0, whole.size() - 1));
  EXPECT_NE(numpy_error(folder / "cut.npy")
                .find("the data of shape [2, 3] should have 24 bytes, but the file ends after "
                      "23"),
            std::string::npos);
}

TEST(NumpyFileTest, DataLeftOverAreRefused) {
  const TestFolder folder;
  write_bytes(folder / "a.npy", numpy_bytes(numpy_header("|u1", "(3,)"), "abcd"));
  EXPECT_NE(numpy_error(folder / "a.npy").find("should have 3 bytes, but the file has 4"), std::string::npos);
}

TEST(NumpyFileTest, ADamagedHeaderIsRefused) {
  const TestFolder folder;
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"{'descr': '<f4', 'fortran_order': False}", "must have the keys descr, fortran_order and shape"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'shape': (1,)}", "must have the keys"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'x': 1}", "an unknown key \"x\""},
      {"{'descr': '<f4', 'fortran_order': no, 'shape': (1,)}", "fortran_order must be True or False, got \"no"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}", "shape must hold integers from 0 to 2^63 - 1"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}", "shape must hold integers"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}", "is too large"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (0, 9223372036854775807)}", "is too large"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': [1]}", "must have '(' where it has \"[1]}\""},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} + f()", "more text after its dictionary"},
      {"{'descr': f4, 'fortran_order': False, 'shape': (1,)}", "descr must be a text"},
      {"{'descr': '', 'fortran_order': False, 'shape': (1,)}", "must begin with a byte order"},
      {"{'descr': '<f16', 'fortran_order': False, 'shape': (1,)}", "got \"<f16\""},
      {"{'descr': '<\\x66', 'fortran_order': False, 'shape': (1,)}", "has an escape"},
      {"{'descr", "must be a text"},
      {"", "must have '{' where it has \"\""},
  };
  for (const auto& [header, expected] : cases) {
    write_bytes(folder / "a.npy", numpy_bytes(header, "abcd"));
    const std::string text = numpy_error(folder / "a.npy");
    EXPECT_NE(text.find(expected), std::string::npos) << header << "\n" << text;
    EXPECT_NE(text.find((folder / "a.npy").string()), std::string::npos);
  }
}

TEST(NumpyFileTest, OtherFilesAreRefused) {
  const TestFolder folder;
  EXPECT_EQ(numpy_error("/nowhere/x.npy"), "[MappedFile] cannot open /nowhere/x.npy: No such file or directory.");
  EXPECT_NE(numpy_error(folder.path()).find("it is not a regular file"), std::string::npos);
  write_bytes(folder / "zip", "PK\3\4 an .npz file");
  EXPECT_NE(numpy_error(folder / "zip").find("it is not a .npy file"), std::string::npos);
  std::string newer = numpy_bytes(numpy_header("|u1", "(1,)"), "a");
  newer[6] = 4;
  write_bytes(folder / "newer.npy", newer);
  EXPECT_NE(numpy_error(folder / "newer.npy").find("must be 1.0, 2.0 or 3.0, got 4.0"), std::string::npos);
}

TEST(NumpyFileTest, ABoolThatIsNeitherZeroNorOneIsRefused) {
  const TestFolder folder;
  write_bytes(folder / "a.npy", numpy_bytes(numpy_header("|b1", "(3,)"), std::string("\1\0\7", 3)));
  EXPECT_NE(numpy_error(folder / "a.npy").find("element 2 of a bool must be 0 or 1, got 7"), std::string::npos);
}

}  // namespace
}  // namespace levin
