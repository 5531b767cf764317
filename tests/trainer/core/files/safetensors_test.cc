#include "trainer/core/files/safetensors.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/imag.h>

#include "tests/trainer/checkpoint/test_files.h"
#include "trainer/core/files/safetensors_dtype.h"

namespace levin {
namespace {

using testing::HasSubstr;

// Every dtype that torch and safetensors share.
constexpr at::ScalarType kDtypes[] = {
    at::kDouble,
    at::kFloat,
    at::kHalf,
    at::kBFloat16,
    at::kLong,
    at::kInt,
    at::kShort,
    at::kChar,
    at::kUInt64,
    at::kUInt32,
    at::kUInt16,
    at::kByte,
    at::kBool,
    at::kComplexFloat,
    at::kFloat8_e4m3fn,
    at::kFloat8_e5m2,
    at::kFloat8_e4m3fnuz,
    at::kFloat8_e5m2fnuz,
    at::kFloat8_e8m0fnu,
};

at::Tensor round_trip(const at::Tensor& tensor) {
  const TestFolder folder;
  write_safetensors(folder / "a.safetensors", {{"x", tensor}});
  const NamedTensors read = read_safetensors(folder / "a.safetensors");
  EXPECT_EQ(read.size(), 1u);
  EXPECT_EQ(read[0].first, "x");
  return read[0].second;
}

TEST(SafetensorsTest, EachDtypeReadsBackBitEqual) {
  for (const at::ScalarType dtype : kDtypes) {
    SCOPED_TRACE(c10::toString(dtype));
    // All byte values, so that NaNs with payloads, infinities and denormals are among them.
    const int64_t num_elements = 256;
    std::string bytes;
    for (size_t i = 0; i < num_elements * c10::elementSize(dtype); ++i) {
      bytes += static_cast<char>(dtype == at::kBool ? i % 2 : (i * 37 + i / 256) % 256);
    }
    const at::Tensor read = round_trip(tensor_of(bytes, {16, 16}, dtype));
    EXPECT_EQ(read.scalar_type(), dtype);
    EXPECT_EQ(read.sizes(), at::IntArrayRef({16, 16}));
    EXPECT_EQ(bytes_of(read), bytes);
  }
}

TEST(SafetensorsTest, NamesOfDtypesReadBack) {
  for (const at::ScalarType dtype : kDtypes) {
    const auto name = safetensors_name(dtype);
    ASSERT_TRUE(name.has_value());
    EXPECT_EQ(dtype_of_safetensors_name(*name), dtype);
  }
  EXPECT_EQ(safetensors_name(at::kComplexDouble), std::nullopt);
  EXPECT_EQ(dtype_of_safetensors_name("F4"), std::nullopt);
}

TEST(SafetensorsTest, NanKeepsItsPayload) {
  const std::string bytes("\x01\x02\xa0\x7f\xef\xcd\xff\xff", 8);  // a signalling NaN and a negative one
  EXPECT_EQ(bytes_of(round_trip(tensor_of(bytes, {2}, at::kFloat))), bytes);
}

TEST(SafetensorsTest, BytesAreThoseOfTheFormat) {
  const TestFolder folder;
  // The int8 comes first in the header but last in the data, so that the float is aligned.
  write_safetensors(folder / "a", {{"i", tensor_of("\x05\xff", {2, 1}, at::kChar)}, {"f", floats({1}).squeeze()}},
                    {{"k", "v"}});
  std::string header = R"({"__metadata__":{"k":"v"},"i":{"dtype":"I8","shape":[2,1],"data_offsets":[4,6]},)"
                       R"("f":{"dtype":"F32","shape":[],"data_offsets":[0,4]}})";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  EXPECT_EQ(read_bytes(folder / "a"), safetensors_bytes(header, std::string("\0\0\x80?\x05\xff", 6)));
}

TEST(SafetensorsTest, OrderOfNamesIsKept) {
  const TestFolder folder;
  const at::Tensor byte = tensor_of("a", {1}, at::kByte);
  write_safetensors(folder / "a", {{"z", byte}, {"a", floats({1})}, {"m", byte}});
  const SafetensorsFile file(folder / "a");
  std::vector<std::string> names;
  for (const auto& entry : file.entries()) names.push_back(entry.name);
  EXPECT_THAT(names, testing::ElementsAre("z", "a", "m"));
}

TEST(SafetensorsTest, NonContiguousTensorsAreWrittenInLogicalOrder) {
  const at::Tensor matrix = floats({0, 1, 2, 3, 4, 5}).view({2, 3});
  EXPECT_EQ(bytes_of(round_trip(matrix.t())), bytes_of(floats({0, 3, 1, 4, 2, 5})));
  EXPECT_EQ(bytes_of(round_trip(matrix.select(1, 1))), bytes_of(floats({1, 4})));
  EXPECT_EQ(bytes_of(round_trip(floats({7}).expand({3}))), bytes_of(floats({7, 7, 7})));
  EXPECT_EQ(bytes_of(round_trip(matrix.slice(0, 1, 2))), bytes_of(floats({3, 4, 5})));
}

TEST(SafetensorsTest, LazyConjugationAndNegationAreCarriedOut) {
  const at::Tensor complex = tensor_of(bytes_of(floats({1, 2, 3, 4})), {2}, at::kComplexFloat);
  EXPECT_EQ(bytes_of(round_trip(complex.conj())), bytes_of(floats({1, -2, 3, -4})));
  EXPECT_EQ(bytes_of(round_trip(at::imag(complex.conj()))), bytes_of(floats({-2, -4})));
}

TEST(SafetensorsTest, TensorsThatRequireGradAreWritten) {
  EXPECT_EQ(bytes_of(round_trip(floats({1, 2}).requires_grad_(true))), bytes_of(floats({1, 2})));
}

TEST(SafetensorsTest, EmptyAndScalarTensorsReadBack) {
  EXPECT_EQ(round_trip(at::empty({0}, at::kFloat)).sizes(), at::IntArrayRef({0}));
  EXPECT_EQ(round_trip(at::empty({3, 0, 5}, at::kBFloat16)).sizes(), at::IntArrayRef({3, 0, 5}));
  const at::Tensor scalar = round_trip(floats({4}).squeeze());
  EXPECT_EQ(scalar.dim(), 0);
  EXPECT_EQ(bytes_of(scalar), bytes_of(floats({4})));
}

TEST(SafetensorsTest, FileWithoutTensorsReadsBack) {
  const TestFolder folder;
  write_safetensors(folder / "a", {});
  EXPECT_EQ(read_bytes(folder / "a"), safetensors_bytes("{}      ", ""));
  EXPECT_TRUE(read_safetensors(folder / "a").empty());
}

TEST(SafetensorsTest, MetadataAndUnicodeNamesReadBack) {
  const TestFolder folder;
  const SafetensorsMetadata metadata = {{"a\"b", "line\nbreak"}, {"", ""}, {"\xc3\xa4", "\xf0\x9f\x98\x80"}};
  write_safetensors(folder / "a", {{"\xc3\xa4.\"w\"", floats({1})}, {"", floats({2})}}, metadata);
  const SafetensorsFile file(folder / "a");
  EXPECT_EQ(file.metadata(), metadata);
  EXPECT_EQ(bytes_of(file.read("\xc3\xa4.\"w\"")), bytes_of(floats({1})));
  EXPECT_EQ(bytes_of(file.read("")), bytes_of(floats({2})));
}

TEST(SafetensorsTest, SingleTensorsAreReadByName) {
  const TestFolder folder;
  write_safetensors(folder / "a", {{"x", floats({1})}, {"y", floats({2, 3})}});
  const SafetensorsFile file(folder / "a");
  EXPECT_TRUE(file.contains("y"));
  EXPECT_FALSE(file.contains("z"));
  EXPECT_EQ(bytes_of(file.read("y")), bytes_of(floats({2, 3})));
  EXPECT_THAT(checkpoint_error_of([&] { file.read("z"); }), HasSubstr("there is no tensor \"z\""));
}

// What the writer says to one tensor; the file must not have been made.
std::string refusal_of(const NamedTensors& tensors, const SafetensorsMetadata& metadata = {}) {
  const TestFolder folder;
  const std::string text = checkpoint_error_of([&] { write_safetensors(folder / "a", tensors, metadata); });
  EXPECT_THAT(text, HasSubstr((folder / "a").string()));
  return text;
}

TEST(SafetensorsTest, WriterRefusesWhatCannotBeWritten) {
  const at::Tensor x = floats({1});
  EXPECT_THAT(refusal_of({{"x", x}, {"x", x}}), HasSubstr("\"x\""));
  EXPECT_THAT(refusal_of({{"x", x}, {"x", x}}), HasSubstr("the name occurs twice"));
  EXPECT_THAT(refusal_of({{"__metadata__", x}}), HasSubstr("the format reserves this name"));
  EXPECT_THAT(refusal_of({{"u", at::Tensor()}}), HasSubstr("\"u\" to"));
  EXPECT_THAT(refusal_of({{"u", at::Tensor()}}), HasSubstr("it is undefined"));
  EXPECT_THAT(refusal_of({{"c", at::empty({1}, at::kComplexDouble)}}), HasSubstr("no dtype for ComplexDouble"));
  EXPECT_THAT(refusal_of({{"s", x.to_sparse()}}), HasSubstr("it is not a dense, strided tensor"));
  EXPECT_THAT(refusal_of({{"m", at::empty({1}, at::TensorOptions(at::kMeta))}}), HasSubstr("on the meta device"));
  EXPECT_THAT(refusal_of({{"\xff", x}}), HasSubstr("is not UTF-8"));
  EXPECT_THAT(refusal_of({{"x", x}}, {{"k", "\xff"}}), HasSubstr("is not UTF-8"));
}

TEST(SafetensorsTest, WriterRefusesReleasedMemory) {
  at::Tensor tensor = floats({1, 2});
  tensor.storage().unsafeGetStorageImpl()->set_data_ptr_noswap(at::DataPtr(nullptr, at::kCPU));
  EXPECT_THAT(refusal_of({{"x", tensor}}), HasSubstr("its memory has been released"));
}

TEST(SafetensorsTest, RefusedTensorsLeaveAnExistingFileAsItWas) {
  const TestFolder folder;
  write_safetensors(folder / "a", {{"x", floats({1})}});
  const std::string before = read_bytes(folder / "a");
  EXPECT_THROW(write_safetensors(folder / "a", {{"x", floats({2})}, {"u", at::Tensor()}}), CheckpointError);
  EXPECT_EQ(read_bytes(folder / "a"), before);
}

TEST(SafetensorsTest, FullDiskIsReported) {
  const std::string text = checkpoint_error_of([] { write_safetensors("/dev/full", {{"x", floats({1})}}); });
  EXPECT_THAT(text, HasSubstr("cannot write /dev/full: No space left on device"));
}

TEST(SafetensorsTest, MissingFolderIsReported) {
  const TestFolder folder;
  const std::string text = checkpoint_error_of([&] { write_safetensors(folder / "none/a", {{"x", floats({1})}}); });
  EXPECT_THAT(text, HasSubstr("cannot create " + (folder / "none/a").string() + ": No such file or directory"));
}

}  // namespace
}  // namespace levin
