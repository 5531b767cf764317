#include "trainer/data/text/bpe_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/trainer/core/error_text.h"
#include "tests/trainer/data/text/text_test_files.h"
#include "trainer/core/error.h"

namespace levin {
namespace {

using testing::HasSubstr;
using Json = nlohmann::json;

class BpeFileTest : public testing::Test {
 protected:
  /// The error of GPT-2's kind of file with one field, a JSON pointer, changed.
  std::string error_with(const std::string& field, const Json& value) const {
    return error_text<DataError>([&] { read_with(field, value); });
  }
  BpeFile read_with(const std::string& field, const Json& value) const {
    return read_bpe_file(
        changed_tokenizer(folder_, "gpt2_style.json", [&](Json& file) { file[Json::json_pointer(field)] = value; }));
  }
  const TestFolder folder_;
};

TEST_F(BpeFileTest, ReadsWhatGptTwoHas) {
  const BpeFile file = read_bpe_file(golden_path("gpt2_style.json"));
  EXPECT_EQ(file.vocab.size(), 639u);  // without what was added
  EXPECT_EQ(file.split_pattern, kByteLevelPattern);
  EXPECT_FALSE(file.adds_prefix_space);
  EXPECT_FALSE(file.uses_nfc);
  EXPECT_FALSE(file.ignores_merges);
  ASSERT_EQ(file.added_tokens.size(), 3u);
  EXPECT_EQ(file.added_tokens[2].content, "\u00e9|tool");
  EXPECT_EQ(file.added_tokens[2].id, 640u);
  EXPECT_TRUE(file.added_tokens[2].is_normalized);
  const BpeFile qwen = read_bpe_file(golden_path("qwen2_style.json"));
  EXPECT_TRUE(qwen.uses_nfc);
  EXPECT_NE(qwen.checksum, file.checksum);
}

// post_processor, truncation and padding change nothing for encode() without special tokens.
TEST_F(BpeFileTest, WhatHasNoEffectIsPassedOver) {
  EXPECT_EQ(read_with("/truncation", {{"max_length", 8}}).vocab.size(), 639u);
  EXPECT_EQ(read_with("/post_processor", {{"type", "TemplateProcessing"}}).vocab.size(), 639u);
  EXPECT_EQ(read_with("/normalizer", {{"type", "Sequence"}, {"normalizers", Json::array()}}).vocab.size(), 639u);
}

TEST_F(BpeFileTest, UnsupportedFeaturesAreNamed) {
  EXPECT_THAT(error_with("/model/type", "WordPiece"),
              HasSubstr("tokenizer.json: model.type must be \"BPE\", got \"WordPiece\""));
  EXPECT_THAT(error_with("/model/dropout", 0.1), HasSubstr("model.dropout must be null"));
  EXPECT_THAT(error_with("/model/byte_fallback", true), HasSubstr("model.byte_fallback must be false"));
  EXPECT_THAT(error_with("/model/end_of_word_suffix", "</w>"), HasSubstr("model.end_of_word_suffix must be null"));
  EXPECT_THAT(error_with("/normalizer", {{"type", "Lowercase"}}),
              HasSubstr("normalizer must be null or NFC, got {\"type\":\"Lowercase\"}"));
  EXPECT_THAT(error_with("/pre_tokenizer", {{"type", "Metaspace"}}),
              HasSubstr("pre_tokenizer must be ByteLevel, or a Sequence of Split and ByteLevel"));
  EXPECT_THAT(error_with("/pre_tokenizer", nullptr), HasSubstr("pre_tokenizer must be ByteLevel"));
  EXPECT_THAT(error_with("/decoder", {{"type", "WordPiece"}}), HasSubstr("decoder must be null or ByteLevel"));
  EXPECT_THAT(error_with("/added_tokens/1/lstrip", true), HasSubstr("added_tokens[1].lstrip must be false"));
}

TEST_F(BpeFileTest, DamagedVocabulariesAreNamed) {
  EXPECT_THAT(error_with("/model/vocab/!", 2), HasSubstr("must differ from that of"));
  EXPECT_THAT(error_with("/model/vocab/!", -1), HasSubstr("model.vocab[\"!\"] must be a number in [0, "));
  EXPECT_THAT(error_with("/model/merges/0", "onlyone"), HasSubstr("model.merges[0] must be \"a b\""));
  EXPECT_THAT(error_with("/model/merges/0", "q zz"), HasSubstr("needs the token \"zz\", which model.vocab does not"));
  const auto path =
      changed_tokenizer(folder_, "gpt2_style.json", [](Json& file) { file["model"]["vocab"].erase("~"); });
  EXPECT_THAT(error_text<DataError>([&] { read_bpe_file(path); }), HasSubstr("byte 126 is missing"));
}

TEST_F(BpeFileTest, OtherFilesAreNoTokenizers) {
  const auto error_of = [&](const std::string& text) {
    write_bytes(folder_ / "tokenizer.json", text);
    return error_text<DataError>([&] { read_bpe_file(folder_ / "tokenizer.json"); });
  };
  EXPECT_THAT(error_of("{\"a\": "), HasSubstr("tokenizer.json is no JSON"));
  EXPECT_THAT(error_of("{\"hello\": 3}"), HasSubstr("it has no field \"model\". GPT-2's vocab.json and merges.txt"));
  EXPECT_THAT(error_of("[]"), HasSubstr("is no tokenizer.json"));
  EXPECT_THAT(error_of("{\"model\": 3}"), HasSubstr("model.type must be \"BPE\""));
  EXPECT_THAT(error_text<DataError>([&] { read_bpe_file(folder_ / "none.json"); }),
              HasSubstr("cannot read the tokenizer"));
}

}  // namespace
}  // namespace levin
