#include "tests/trainer/checkpoint/test_files.h"
#include "trainer/core/files/safetensors.h"

namespace levin {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// The error of reading a file with these bytes; it must name the file.
std::string error_of_bytes(const std::string& bytes) {
  const TestFolder folder;
  write_bytes(folder / "a.safetensors", bytes);
  const std::string text = checkpoint_error_of([&] { read_safetensors(folder / "a.safetensors"); });
  EXPECT_THAT(text, HasSubstr((folder / "a.safetensors").string()));
  return text;
}

std::string error_of(const std::string& header, size_t num_data_bytes) {
  return error_of_bytes(safetensors_bytes(header, std::string(num_data_bytes, '\0')));
}

// A header with one tensor "w" of these fields.
std::string w(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"({"w":{"dtype":)" + dtype + R"(,"shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}";
}

// Two tensors "a" and "b" of four bytes each at these offsets.
std::string a_b(const std::string& a, const std::string& b) {
  return R"({"a":{"dtype":"F32","shape":[1],"data_offsets":)" + a +
         R"(},"b":{"dtype":"F32","shape":[1],"data_offsets":)" + b + "}}";
}

TEST(SafetensorsMalformedTest, TheHelpersMakeValidFiles) {
  const TestFolder folder;
  write_bytes(folder / "a", safetensors_bytes(w(R"("F32")", "[2]", "[0,8]"), std::string(8, '\0')));
  EXPECT_EQ(read_safetensors(folder / "a").size(), 1u);
  write_bytes(folder / "b", safetensors_bytes(a_b("[4,8]", "[0,4]"), std::string(8, '\0')));
  EXPECT_EQ(read_safetensors(folder / "b").size(), 2u);
}

TEST(SafetensorsMalformedTest, FileShorterThanTheLengthField) {
  EXPECT_THAT(error_of_bytes(""), HasSubstr("0 bytes, too few for the length of the header"));
  EXPECT_THAT(error_of_bytes("1234567"), HasSubstr("7 bytes, too few"));
}

TEST(SafetensorsMalformedTest, HeaderLongerThanTheFile) {
  EXPECT_THAT(error_of_bytes(std::string("\x09\0\0\0\0\0\0\0{}", 10)),
              HasSubstr("the header should have 9 bytes, but the file ends after 2"));
  EXPECT_THAT(error_of_bytes(std::string(8, '\xff') + "{}"), HasSubstr("should have 18446744073709551615 bytes"));
}

TEST(SafetensorsMalformedTest, HeaderThatIsNotJson) {
  EXPECT_THAT(error_of("", 0), HasSubstr("does not begin with '{'"));
  EXPECT_THAT(error_of(" {}", 0), HasSubstr("does not begin with '{'"));
  EXPECT_THAT(error_of("[]", 0), HasSubstr("does not begin with '{'"));
  EXPECT_THAT(error_of("{", 0), HasSubstr("invalid JSON"));
  EXPECT_THAT(error_of("{} x", 0), HasSubstr("invalid JSON"));
  EXPECT_THAT(error_of("{\"\xff\":1}", 0), HasSubstr("invalid JSON"));
  EXPECT_THAT(error_of("{}" + std::string(3, '\0'), 0), HasSubstr("invalid JSON"));
}

TEST(SafetensorsMalformedTest, DoubledNames) {
  EXPECT_THAT(error_of(R"({"w":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},)"
                       R"("w":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})",
                       0),
              HasSubstr("the key \"w\" twice"));
  EXPECT_THAT(error_of(R"({"w":{"dtype":"U8","dtype":"I8","shape":[0],"data_offsets":[0,0]}})", 0),
              HasSubstr("the key \"dtype\" twice"));
}

TEST(SafetensorsMalformedTest, DeepNesting) {
  const std::string open(100000, '[');
  EXPECT_THAT(error_of(R"({"w":)" + open, 0), HasSubstr("nested more than 16 deep"));
}

TEST(SafetensorsMalformedTest, EntriesOfTheWrongForm) {
  EXPECT_THAT(error_of(R"({"w":1})", 0), AllOf(HasSubstr("\"w\""), HasSubstr("must be an object, got 1")));
  EXPECT_THAT(error_of(R"({"w":{"shape":[],"data_offsets":[0,0]}})", 0), HasSubstr("has no \"dtype\""));
  EXPECT_THAT(error_of(R"({"w":{"dtype":"U8","data_offsets":[0,0]}})", 0), HasSubstr("has no \"shape\""));
  EXPECT_THAT(error_of(R"({"w":{"dtype":"U8","shape":[0]}})", 0), HasSubstr("has no \"data_offsets\""));
  EXPECT_THAT(error_of(w(R"("U8")", "3", "[0,3]"), 3), HasSubstr("shape must be a list, got 3"));
  EXPECT_THAT(error_of(w(R"("U8")", "[-1]", "[0,0]"), 0), HasSubstr("got -1"));
  EXPECT_THAT(error_of(w(R"("U8")", "[1.0]", "[0,1]"), 1), HasSubstr("got 1.0"));
  EXPECT_THAT(error_of(w(R"("U8")", "[\"1\"]", "[0,1]"), 1), HasSubstr("got \"1\""));
  EXPECT_THAT(error_of(w(R"("U8")", "[1]", "[0]"), 1), HasSubstr("must be two numbers, got [0]"));
  EXPECT_THAT(error_of(w(R"("U8")", "[1]", "[0,1,2]"), 1), HasSubstr("must be two numbers, got [0, 1, 2]"));
}

TEST(SafetensorsMalformedTest, UnknownDtypes) {
  EXPECT_THAT(error_of(w(R"("F12")", "[1]", "[0,1]"), 1),
              AllOf(HasSubstr("\"w\""), HasSubstr("unknown dtype \"F12\"")));
  EXPECT_THAT(error_of(w(R"("f32")", "[1]", "[0,4]"), 4), HasSubstr("unknown dtype \"f32\""));
  EXPECT_THAT(error_of(w("7", "[1]", "[0,1]"), 1), HasSubstr("unknown dtype 7"));
}

TEST(SafetensorsMalformedTest, SizeThatDoesNotFitShapeAndDtype) {
  EXPECT_THAT(error_of(w(R"("F32")", "[2,3]", "[0,20]"), 20),
              AllOf(HasSubstr("\"w\""), HasSubstr("data_offsets [0, 20] do not fit F32 [2, 3], which needs 24 bytes")));
  EXPECT_THAT(error_of(w(R"("F32")", "[]", "[0,0]"), 0), HasSubstr("which needs 4 bytes"));
  EXPECT_THAT(error_of(w(R"("F32")", "[0,3]", "[0,4]"), 4), HasSubstr("which needs 0 bytes"));
  EXPECT_THAT(error_of(w(R"("F32")", "[1]", "[4,0]"), 4), HasSubstr("data_offsets [4, 0] do not fit"));
}

TEST(SafetensorsMalformedTest, ShapesThatOverflow) {
  // 2^62 * 4 elements is 2^64, and 0 in 64 bits: a product without a check would take the empty range for right.
  EXPECT_THAT(error_of(w(R"("U8")", "[4611686018427387904,4]", "[0,0]"), 0),
              HasSubstr("the shape [4611686018427387904, 4] is too large"));
  EXPECT_THAT(error_of(w(R"("F64")", "[2305843009213693952]", "[0,0]"), 0), HasSubstr("is too large"));
  EXPECT_THAT(error_of(w(R"("U8")", "[0,4611686018427387904,4]", "[0,0]"), 0), HasSubstr("is too large"));
  EXPECT_THAT(error_of(w(R"("U8")", "[18446744073709551615]", "[0,0]"), 0), HasSubstr("got 18446744073709551615"));
  EXPECT_THAT(error_of(w(R"("U8")", "[99999999999999999999]", "[0,0]"), 0), HasSubstr("must hold integers"));
  std::string ones = "[1";
  for (int i = 0; i < 64; ++i) ones += ",1";
  EXPECT_THAT(error_of(w(R"("U8")", ones + "]", "[0,1]"), 1), HasSubstr("65 dimensions, more than 64"));
}

TEST(SafetensorsMalformedTest, OffsetsOutsideOfTheFile) {
  EXPECT_THAT(error_of(w(R"("F32")", "[2]", "[0,8]"), 4),
              AllOf(HasSubstr("\"w\""), HasSubstr("data_offsets [0, 8] lie outside of the 4 bytes of data")));
  EXPECT_THAT(error_of(w(R"("F32")", "[1]", "[9223372036854775800,9223372036854775804]"), 4), HasSubstr("lie outside"));
  EXPECT_THAT(error_of(w(R"("F32")", "[1]", "[18446744073709551612,18446744073709551616]"), 4), HasSubstr("must hold"));
}

TEST(SafetensorsMalformedTest, OverlapsAndGaps) {
  EXPECT_THAT(error_of(a_b("[0,4]", "[2,6]"), 6),
              AllOf(HasSubstr("\"b\""), HasSubstr("[2, 6] overlap the tensor before, which ends at 4")));
  EXPECT_THAT(error_of(a_b("[0,4]", "[0,4]"), 4), HasSubstr("overlap"));
  EXPECT_THAT(error_of(a_b("[0,4]", "[8,12]"), 12),
              AllOf(HasSubstr("\"b\""), HasSubstr("[8, 12] leave a gap: the tensor before ends at 4")));
  EXPECT_THAT(error_of(w(R"("F32")", "[1]", "[4,8]"), 8), HasSubstr("leave a gap"));
}

TEST(SafetensorsMalformedTest, BytesLeftOver) {
  EXPECT_THAT(error_of(w(R"("F32")", "[1]", "[0,4]"), 5), HasSubstr("1 bytes follow the last tensor, which ends at 4"));
  EXPECT_THAT(error_of("{}", 1), HasSubstr("1 bytes follow the last tensor"));
}

TEST(SafetensorsMalformedTest, TruncatedAtAnyByte) {
  const std::string bytes = safetensors_bytes(a_b("[0,4]", "[4,8]"), "12345678");
  for (size_t size = 0; size < bytes.size(); ++size) {
    SCOPED_TRACE(size);
    EXPECT_NE(error_of_bytes(bytes.substr(0, size)), "");
  }
}

TEST(SafetensorsMalformedTest, MetadataOfTheWrongForm) {
  EXPECT_THAT(error_of(R"({"__metadata__":[]})", 0), HasSubstr("__metadata__ must be an object, got []"));
  EXPECT_THAT(error_of(R"({"__metadata__":{"k":1}})", 0), HasSubstr("the metadata \"k\" must be a text, got 1"));
}

TEST(SafetensorsMalformedTest, BoolsOtherThanZeroAndOne) {
  EXPECT_THAT(error_of_bytes(safetensors_bytes(w(R"("BOOL")", "[3]", "[0,3]"), std::string("\1\0\2", 3))),
              AllOf(HasSubstr("\"w\""), HasSubstr("element 2 of a BOOL must be 0 or 1, got 2")));
}

TEST(SafetensorsMalformedTest, MissingFilesAndFolders) {
  const TestFolder folder;
  EXPECT_THAT(checkpoint_error_of([&] { read_safetensors(folder / "none"); }),
              HasSubstr("cannot open " + (folder / "none").string() + ": No such file or directory"));
  EXPECT_THAT(checkpoint_error_of([&] { read_safetensors(folder.path()); }), HasSubstr("it is not a regular file"));
}

}  // namespace
}  // namespace levin
