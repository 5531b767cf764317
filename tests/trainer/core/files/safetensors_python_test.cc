// Files that Python's safetensors wrote, and files for it to read; see tests/parity/safetensors/make_golden.sh.
#include <stdlib.h>

#include <array>
#include <utility>

#include "tests/trainer/checkpoint/test_files.h"
#include "trainer/checkpoint/state_file.h"
#include "trainer/core/files/safetensors.h"
#include "trainer/core/files/safetensors_dtype.h"

namespace levin {
namespace {

const std::filesystem::path kGolden = "tests/parity/safetensors";

// The bytes of the values 0 to 5 in each dtype, worked out by hand, little-endian. F8_E8M0 holds 1, 2, 4, ... 32, BOOL
// i % 2, C64 i - i * 1j.
std::string repeat_as(size_t size, const std::vector<uint64_t>& values) {
  std::string bytes;
  for (const uint64_t value : values) bytes += std::string(reinterpret_cast<const char*>(&value), size);
  return bytes;
}

const std::vector<std::pair<const char*, std::string>>& golden_bytes() {
  static const std::vector<std::pair<const char*, std::string>> kBytes = {
      {"F64", repeat_as(8, {0, 0x3ff0000000000000, 0x4000000000000000, 0x4008000000000000, 0x4010000000000000,
                            0x4014000000000000})},
      {"F32", repeat_as(4, {0, 0x3f800000, 0x40000000, 0x40400000, 0x40800000, 0x40a00000})},
      {"F16", repeat_as(2, {0, 0x3c00, 0x4000, 0x4200, 0x4400, 0x4500})},
      {"BF16", repeat_as(2, {0, 0x3f80, 0x4000, 0x4040, 0x4080, 0x40a0})},
      {"I64", repeat_as(8, {0, 1, 2, 3, 4, 5})},
      {"I32", repeat_as(4, {0, 1, 2, 3, 4, 5})},
      {"I16", repeat_as(2, {0, 1, 2, 3, 4, 5})},
      {"I8", repeat_as(1, {0, 1, 2, 3, 4, 5})},
      {"U64", repeat_as(8, {0, 1, 2, 3, 4, 5})},
      {"U32", repeat_as(4, {0, 1, 2, 3, 4, 5})},
      {"U16", repeat_as(2, {0, 1, 2, 3, 4, 5})},
      {"U8", repeat_as(1, {0, 1, 2, 3, 4, 5})},
      {"BOOL", repeat_as(1, {0, 1, 0, 1, 0, 1})},
      {"C64", repeat_as(4, {0, 0, 0x3f800000, 0xbf800000, 0x40000000, 0xc0000000, 0x40400000, 0xc0400000, 0x40800000,
                            0xc0800000, 0x40a00000, 0xc0a00000})},
      {"F8_E4M3", repeat_as(1, {0, 0x38, 0x40, 0x44, 0x48, 0x4a})},
      {"F8_E5M2", repeat_as(1, {0, 0x3c, 0x40, 0x42, 0x44, 0x45})},
      {"F8_E4M3FNUZ", repeat_as(1, {0, 0x40, 0x48, 0x4c, 0x50, 0x52})},
      {"F8_E5M2FNUZ", repeat_as(1, {0, 0x40, 0x44, 0x46, 0x48, 0x49})},
      {"F8_E8M0", repeat_as(1, {127, 128, 129, 130, 131, 132})},
  };
  return kBytes;
}

NamedTensors golden_tensors() {
  NamedTensors tensors = {{"fc.weight", tensor_of(golden_bytes()[3].second, {2, 3}, at::kBFloat16)},
                          {"fc.bias", floats({1, 2})}};
  for (const auto& [name, bytes] : golden_bytes()) {
    tensors.emplace_back("dtype." + std::string(name), tensor_of(bytes, {2, 3}, *dtype_of_safetensors_name(name)));
  }
  tensors.emplace_back("empty", at::empty({0, 4}, at::kFloat));
  tensors.emplace_back("scalar", tensor_of(repeat_as(8, {7}), {}, at::kLong));
  return tensors;
}

class SafetensorsPythonTest : public testing::TestWithParam<const char*> {};

TEST_P(SafetensorsPythonTest, FilesOfPythonReadBitEqual) {
  const SafetensorsFile file(kGolden / GetParam());
  const NamedTensors expected = golden_tensors();
  EXPECT_EQ(file.entries().size(), expected.size());
  for (const auto& [name, tensor] : expected) {
    SCOPED_TRACE(name);
    const at::Tensor read = file.read(name);
    EXPECT_EQ(read.scalar_type(), tensor.scalar_type());
    EXPECT_EQ(read.sizes(), tensor.sizes());
    EXPECT_EQ(bytes_of(read), bytes_of(tensor));
  }
}

TEST_P(SafetensorsPythonTest, FilesOfPythonReadAsState) {
  const StateDict state = read_state_tensors(kGolden / GetParam());
  EXPECT_EQ(state.size(), golden_tensors().size());
  EXPECT_EQ(bytes_of(state.tensor("fc.bias")), bytes_of(floats({1, 2})));
}

INSTANTIATE_TEST_SUITE_P(Golden, SafetensorsPythonTest,
                         testing::Values("with_metadata.safetensors", "without_metadata.safetensors"));

TEST(SafetensorsPython, MetadataOfPythonReads) {
  EXPECT_EQ(SafetensorsFile(kGolden / "with_metadata.safetensors").metadata(),
            (SafetensorsMetadata{{"author", "Python"}, {"format", "pt"}}));
  EXPECT_TRUE(SafetensorsFile(kGolden / "without_metadata.safetensors").metadata().empty());
}

// Leaves the same tensors, written by Levin, in the outputs of the test, where `make_golden.sh check` finds them.
TEST(SafetensorsPython, GoldenTensorsAreWritten) {
  const TestFolder folder;
  const char* outputs = ::getenv("TEST_UNDECLARED_OUTPUTS_DIR");
  const std::filesystem::path target = outputs != nullptr ? outputs : folder.path();
  write_safetensors(target / "levin.safetensors", golden_tensors(), {{"author", "Levin"}});
  EXPECT_EQ(read_safetensors(target / "levin.safetensors").size(), golden_tensors().size());
}

// Field case A6: the very bytes that Python writes for fc.weight, a bf16 ramp, and fc.bias, with and without metadata.
TEST(SafetensorsPython, LinearLayerReadsWithAndWithoutMetadata) {
  const std::string entries = R"("fc.bias":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                              R"("fc.weight":{"dtype":"BF16","shape":[2,3],"data_offsets":[8,20]}})";
  const std::string data = bytes_of(floats({1, 2})) + golden_bytes()[3].second;
  for (const std::string& begin : {std::string("{"), std::string(R"({"__metadata__":{"format":"pt"},)")}) {
    SCOPED_TRACE(begin);
    std::string header = begin + entries;
    header.resize((header.size() + 7) / 8 * 8, ' ');
    const TestFolder folder;
    write_bytes(folder / "a.safetensors", safetensors_bytes(header, data));
    const NamedTensors read = read_safetensors(folder / "a.safetensors");
    ASSERT_EQ(read.size(), 2u);
    EXPECT_EQ(read[0].first, "fc.bias");
    EXPECT_EQ(bytes_of(read[0].second), bytes_of(floats({1, 2})));
    EXPECT_EQ(read[1].first, "fc.weight");
    EXPECT_EQ(read[1].second.scalar_type(), at::kBFloat16);
    EXPECT_EQ(bytes_of(read[1].second.to(at::kFloat)), bytes_of(floats({0, 1, 2, 3, 4, 5})));
  }
}

}  // namespace
}  // namespace levin
