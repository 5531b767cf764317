#include "trainer/data/text/bpe_tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "tests/trainer/core/error_text.h"
#include "tests/trainer/data/text/text_test_files.h"
#include "trainer/core/error.h"

namespace levin {
namespace {

using testing::HasSubstr;
using Json = nlohmann::json;

class BpeParityTest : public testing::TestWithParam<std::string> {
 protected:
  const BpeTokenizer tokenizer_{golden_path(GetParam() + ".json")};
};

TEST_P(BpeParityTest, TokensAreThoseOfHuggingFace) {
  const Json cases = read_json(golden_path(GetParam() + "_golden.json"));
  ASSERT_GT(cases.size(), 300u);
  for (const Json& one : cases) {
    const auto text = one["text"].get<std::string>();
    EXPECT_EQ(tokenizer_.encode(text), one["ids"].get<std::vector<uint32_t>>()) << Json(text).dump(-1, ' ', true);
  }
}

TEST_P(BpeParityTest, AnyBytesComeBack) {
  std::mt19937 generator(11);
  for (int i = 0; i < 2000; ++i) {
    const std::string text = random_bytes(generator, 24);
    const std::string decoded = tokenizer_.decode(tokenizer_.encode(text));
    if (GetParam() == "gpt2_style" || GetParam() == "llama3_style") {
      EXPECT_EQ(decoded, text);
    } else {
      // Normalized, or with its space, once is as good as twice.
      EXPECT_EQ(tokenizer_.decode(tokenizer_.encode(decoded)), decoded);
    }
  }
}

TEST_P(BpeParityTest, PartsBetweenCutsHaveTheTokensOfTheWhole) {
  std::mt19937 generator(13);
  int num_cuts = 0;
  for (int i = 0; i < 2000; ++i) {
    const std::string before = random_bytes(generator, 24);
    const std::string text = before + random_bytes(generator, 8);
    const size_t cut = tokenizer_.find_cut(before);
    if (cut == 0) continue;
    ++num_cuts;
    ASSERT_LT(cut, before.size());
    std::vector<uint32_t> tokens = tokenizer_.encode(text.substr(0, cut));
    for (const uint32_t token : tokenizer_.encode(text.substr(cut))) tokens.push_back(token);
    EXPECT_EQ(tokens, tokenizer_.encode(text)) << Json(text).dump(-1, ' ', true, Json::error_handler_t::replace);
  }
  EXPECT_GT(num_cuts, 500);
}

TEST_P(BpeParityTest, LongPiecesTakeLinearTime) {
  const auto start = std::chrono::steady_clock::now();
  for (const char* unit : {"a", " ", "\n", "!", "7", "\u4f60", "the", "\xff", "\u0301"}) {
    std::string text;
    while (text.size() < size_t{1} << 20) text += unit;
    const std::vector<uint32_t> tokens = tokenizer_.encode(text);
    const std::string decoded = tokenizer_.decode(tokens);
    EXPECT_TRUE(decoded == text || decoded == " " + text) << unit;
    EXPECT_LT(tokenizer_.find_cut(text), text.size());
  }
  // Nine texts; were it quadratic, one would take hours.
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(45));
}

INSTANTIATE_TEST_SUITE_P(All, BpeParityTest,
                         testing::Values("gpt2_style", "llama3_style", "prefix_space", "qwen2_style"),
                         [](const auto& param) { return param.param; });

class BpeTokenizerTest : public testing::Test {
 protected:
  std::filesystem::path change(const std::function<void(Json&)>& change) const {
    return changed_tokenizer(folder_, "gpt2_style.json", change);
  }
  const TestFolder folder_;
};

TEST_F(BpeTokenizerTest, KnowsItsVocabulary) {
  const BpeTokenizer tokenizer(golden_path("gpt2_style.json"));
  EXPECT_EQ(tokenizer.vocab_size(), 641);
  EXPECT_EQ(tokenizer.end_of_text(), 0u);
  EXPECT_EQ(tokenizer.find_token("<|user|>"), 639u);
  EXPECT_EQ(tokenizer.find_token("<|none|>"), std::nullopt);
  EXPECT_THAT(tokenizer.name(), testing::MatchesRegex("gpt2_style[.]json \\(xxh3 [0-9a-f]+\\)"));
  EXPECT_THAT(error_text<DataError>([&] { tokenizer.decode(std::vector<uint32_t>{641}); }),
              HasSubstr("has no token 641; its vocabulary ends at 640"));
}

TEST_F(BpeTokenizerTest, WithoutAnEndOfTextThereIsNone) {
  const BpeTokenizer tokenizer(change([](Json& file) { file["added_tokens"] = Json::array(); }));
  EXPECT_EQ(tokenizer.end_of_text(), std::nullopt);
}

// A Split by a pattern of its own, and none: then a piece may lie anywhere.
TEST_F(BpeTokenizerTest, TextIsNotCutWhereItsSplitIsNotKnown) {
  const auto byte_level = [](bool uses_regex) {
    return Json{{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", uses_regex}};
  };
  const BpeTokenizer unsplit(change([&](Json& file) { file["pre_tokenizer"] = byte_level(false); }));
  EXPECT_EQ(unsplit.find_cut("one two three"), 0u);
  const std::string text = "the model the model";
  EXPECT_EQ(unsplit.decode(unsplit.encode(text)), text);
  const BpeTokenizer other(change([&](Json& file) {
    const Json split = {
        {"type", "Split"}, {"pattern", {{"Regex", "\\d+"}}}, {"behavior", "Isolated"}, {"invert", false}};
    file["pre_tokenizer"] = {{"type", "Sequence"}, {"pretokenizers", {split, byte_level(false)}}};
  }));
  EXPECT_EQ(other.find_cut("one two three"), 0u);
  // An added token with a space within forbids it too.
  const BpeTokenizer spaced(change([](Json& file) { file["added_tokens"][1]["content"] = "<a b>"; }));
  EXPECT_EQ(spaced.find_cut("one two three"), 0u);
  const BpeTokenizer usual(golden_path("gpt2_style.json"));
  EXPECT_EQ(usual.find_cut("one two three"), 7u);
  EXPECT_EQ(usual.find_cut("one"), 0u);
}

TEST_F(BpeTokenizerTest, ThreadsShareIt) {
  const BpeTokenizer tokenizer(golden_path("llama3_style.json"));
  std::mt19937 generator(17);
  std::vector<std::string> texts;
  std::vector<std::vector<uint32_t>> expected;
  for (int i = 0; i < 200; ++i) {
    texts.push_back(random_bytes(generator, 60));
    expected.push_back(tokenizer.encode(texts.back()));
  }
  std::vector<std::vector<std::vector<uint32_t>>> got(4);
  {
    std::vector<std::jthread> threads;
    for (auto& mine : got) {
      threads.emplace_back([&] {
        for (const std::string& text : texts) mine.push_back(tokenizer.encode(text));
      });
    }
  }
  for (const auto& mine : got) EXPECT_EQ(mine, expected);
}

TEST_F(BpeTokenizerTest, LoadTokenizerTakesBytesOrAFile) {
  EXPECT_EQ(load_tokenizer("bytes")->vocab_size(), 257);
  EXPECT_EQ(load_tokenizer(golden_path("gpt2_style.json"))->vocab_size(), 641);
  EXPECT_THAT(error_text<ConfigError>([] { load_tokenizer("gpt2"); }),
              HasSubstr("the tokenizer must be \"bytes\" or the path of a tokenizer.json, got \"gpt2\""));
  EXPECT_THAT(error_text<DataError>([] { load_tokenizer("none.json"); }),
              HasSubstr("cannot read the tokenizer none.json"));
}

}  // namespace
}  // namespace levin
