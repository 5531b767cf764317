#include "trainer/data/text/text_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/trainer/core/error_text.h"
#include "tests/trainer/data/text/text_test_files.h"
#include "trainer/core/error.h"
#include "trainer/core/state_dict.h"
#include "trainer/data/sampler.h"
#include "trainer/data/text/byte_tokenizer.h"
#include "trainer/data/text/text_dataset.h"
#include "trainer/data/text/text_windows.h"

namespace levin {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Values = std::vector<int64_t>;

Values values_of(const at::Tensor& tensor) {
  EXPECT_TRUE(tensor.is_contiguous());
  return Values(tensor.const_data_ptr<int64_t>(), tensor.const_data_ptr<int64_t>() + tensor.numel());
}

class TextDataTest : public testing::Test {
 protected:
  TextDataTest() {
    write_bytes(folder_ / "a.txt", "abcd\nefgh\n");
    write_gzip(folder_ / "b.gz", "ijkl");
  }
  TextData::Options options() const {
    TextData::Options options;
    options.train_files = {path("a.txt"), path("b.gz")};
    options.documents = "line";
    options.sequence_length = 2;
    options.loader.batch_size = 2;
    options.eval_batch_size = 3;
    return options;
  }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  const TestFolder folder_;
};

// a b c d END e f g h END i j k l END: windows of 2 + 1.
TEST_F(TextDataTest, WindowsRunOverTheDocumentsInOrder) {
  TextData::Options given = options();
  given.val_files = given.train_files;
  TextData data(given);
  data.setup(Stage::kValidate);
  const auto loader = data.val_dataloader();
  loader->start_epoch(0);
  const auto batch = loader->next();
  ASSERT_TRUE(batch);
  EXPECT_THAT(values_of((*batch)[0].tensor()), ElementsAre('a', 'b', 'c', 'd', 256, 'e'));
  EXPECT_THAT(values_of((*batch)[1].tensor()), ElementsAre('b', 'c', 'd', 256, 'e', 'f'));
  EXPECT_EQ((*batch)[0].tensor().sizes(), (at::IntArrayRef{3, 2}));
  EXPECT_EQ(loader->num_batches(), 3);  // of 7 windows
  EXPECT_EQ(data.train_dataloader(), nullptr);
  EXPECT_EQ(data.test_dataloader(), nullptr);
}

TEST_F(TextDataTest, AGivenSamplerDecidesTheOrderOfTraining) {
  TextData::Options given = options();
  given.loader.batch_size = 3;
  given.loader.sampler = std::make_shared<SequentialSampler>(7);
  TextData data(given);
  data.setup(Stage::kTrain);
  const auto loader = data.train_dataloader();
  loader->start_epoch(0);
  const auto batch = loader->next();
  ASSERT_TRUE(batch);
  EXPECT_THAT(values_of((*batch)[0].tensor()), ElementsAre('a', 'b', 'c', 'd', 256, 'e'));
}

TEST_F(TextDataTest, TrainingIsShuffledAndComplete) {
  TextData data(options());
  data.setup(Stage::kTrain);
  EXPECT_TRUE(data.set_batch_size(7));
  const auto loader = data.train_dataloader();
  Values first;
  for (const int64_t epoch : {0, 1}) {
    loader->start_epoch(epoch);
    const auto batch = loader->next();
    ASSERT_TRUE(batch);
    Values input = values_of((*batch)[0].tensor());
    EXPECT_NE(input, first);
    first = input;
    std::sort(input.begin(), input.end());
    EXPECT_THAT(input, ElementsAre('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l', 256, 256));
    EXPECT_FALSE(loader->next());
  }
}

TEST_F(TextDataTest, TestAndPredictHaveFilesOfTheirOwn) {
  TextData::Options given = options();
  given.test_files = {path("a.txt")};
  given.predict_files = {path("b.gz")};
  given.documents = "separator";
  given.document_separator = "\n";
  TextData data(given);
  data.setup(Stage::kTest);
  data.setup(Stage::kPredict);
  EXPECT_EQ(data.test_dataloader()->num_batches(), 2);
  EXPECT_EQ(data.predict_dataloader()->num_batches(), 1);
}

TEST_F(TextDataTest, ATokenizerFileGivesItsTokens) {
  TextData::Options given = options();
  given.tokenizer = golden_path("gpt2_style.json");
  given.val_files = {path("a.txt")};
  given.documents = "file";
  TextData data(given);
  data.setup(Stage::kValidate);
  const auto loader = data.val_dataloader();
  loader->start_epoch(0);
  const auto expected = load_tokenizer(given.tokenizer)->encode("abcd\nefgh\n");
  EXPECT_THAT(values_of((*loader->next())[0].tensor().select(0, 0)), ElementsAre(expected[0], expected[1]));
}

TEST_F(TextDataTest, WrongOptionsAndFilesAreErrors) {
  const auto config_error = [&](auto&& change) {
    TextData::Options given = options();
    change(given);
    return error_text<ConfigError>([&] { TextData(given).setup(Stage::kTrain); });
  };
  EXPECT_THAT(config_error([](auto& given) { given.documents = "page"; }),
              HasSubstr("[TextData] documents must be one of: file, line, separator, got page"));
  EXPECT_THAT(config_error([](auto& given) { given.sequence_length = 0; }), HasSubstr("sequence_length must be >= 1"));
  EXPECT_THAT(config_error([](auto& given) { given.document_separator = "x"; }), HasSubstr("only then"));
  EXPECT_THAT(config_error([](auto& given) { given.documents = "separator"; }), HasSubstr("document_separator"));
  EXPECT_THAT(config_error([](auto& given) { given.train_files.clear(); }), HasSubstr("no files are given"));
  EXPECT_THAT(config_error([](auto& given) { given.tokenizer = "gpt2"; }), HasSubstr("got \"gpt2\""));
  const auto data_error = [&](auto&& change) {
    TextData::Options given = options();
    change(given);
    return error_text<DataError>([&] { TextData(given).setup(Stage::kTrain); });
  };
  EXPECT_THAT(data_error([](auto& given) { given.train_files[1] = "none.txt"; }), HasSubstr("cannot open none.txt"));
  const std::string text = data_error([](auto& given) { given.sequence_length = 15; });
  EXPECT_THAT(text, HasSubstr("train_files (" + path("a.txt") + ", " + path("b.gz") + ")"));
  EXPECT_THAT(text, HasSubstr("has 15 tokens, too few for one window of sequence_length + 1 = 16"));
}

TEST_F(TextDataTest, WindowsCheckWhatTheyAreGiven) {
  EXPECT_THAT(error_text<ConfigError>([] { TextWindows({1, 2}, 0); }), HasSubstr("sequence_length must be >= 1"));
  EXPECT_THAT(error_text<DataError>([] { TextWindows({}, 1); }), HasSubstr("has 0 tokens"));
  const TextWindows windows({1, 2, 3}, 2);
  EXPECT_EQ(windows.size(), 1);
  EXPECT_THAT(error_text<DataError>([&] { windows.get_batch(Values{1}, {}); }), HasSubstr("must be in [0, 1), got 1"));
}

class TextDatasetTest : public TextDataTest {
 protected:
  TextDataset dataset() const {
    return TextDataset({folder_ / "a.txt", folder_ / "b.gz"}, std::make_shared<ByteTokenizer>(),
                       {.documents = {.border = DocumentBorder::kLine}});
  }
};

TEST_F(TextDatasetTest, ASampleIsADocument) {
  const auto stream = dataset().open({});
  EXPECT_THAT(values_of(stream->next()->tensor()), ElementsAre('a', 'b', 'c', 'd', 256));
  EXPECT_EQ(stream->skip(1), 1);
  EXPECT_THAT(values_of(stream->next()->tensor()), ElementsAre('i', 'j', 'k', 'l', 256));
  EXPECT_FALSE(stream->next());
  EXPECT_EQ(stream->skip(2), 0);
}

TEST_F(TextDatasetTest, AStateGoesOnAtTheNextDocument) {
  for (const int64_t count : {0, 1, 2, 3}) {
    const auto first = dataset().open({});
    first->skip(count);
    const auto second = dataset().open({});
    second->load_state(*first->state());
    while (const auto expected = first->next()) {
      const auto got = second->next();
      ASSERT_TRUE(got) << count;
      EXPECT_EQ(values_of(got->tensor()), values_of(expected->tensor()));
    }
    EXPECT_FALSE(second->next());
  }
}

TEST_F(TextDatasetTest, WrongStatesAndFilesAreErrors) {
  const auto bytes = std::make_shared<ByteTokenizer>();
  const auto state = TextDataset({folder_ / "a.txt"}, bytes, {}).open({})->state();
  EXPECT_THAT(error_text<CheckpointError>([&] { dataset().open({})->load_state(*state); }),
              HasSubstr("the saved position is byte 0 of file 0 of 1, but there are 2 files"));
  EXPECT_THAT(error_text<ConfigError>([&] { TextDataset({}, bytes, {}); }), HasSubstr("at least one file"));
  EXPECT_THAT(error_text<DataError>([&] { TextDataset({"none.txt"}, bytes, {}); }), HasSubstr("cannot open none.txt"));
}

}  // namespace
}  // namespace levin
