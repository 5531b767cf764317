#include "trainer/data/tokens/token_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/trainer/core/error_text.h"
#include "tests/trainer/data/tokens/token_test_files.h"
#include "trainer/core/error.h"

namespace levin {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using Values = std::vector<int64_t>;

class TokenDataTest : public testing::Test {
 protected:
  TokenDataTest() {
    write_tokens(folder_ / "a.bin", ramp(0, 41));
    write_tokens(folder_ / "b.bin", ramp(1000, 81));
    write_bytes(folder_ / "raw.bin", raw_tokens<uint16_t>({1, 2, 3, 4, 5, 6, 7, 8, 9}));
  }

  TokenData::Options options() const {
    TokenData::Options options;
    options.train_files = {path("a.bin"), path("b.bin")};
    options.sequence_length = 4;
    options.loader.batch_size = 4;
    options.eval_batch_size = 2;
    return options;
  }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  const TestFolder folder_;
};

/// The first tokens of the windows of an epoch.
Values starts(DataLoader& loader, int64_t epoch = 0) {
  loader.start_epoch(epoch);
  Values values;
  while (const auto batch = loader.next()) {
    for (int64_t row = 0; row < batch->batch_size(); ++row) {
      values.push_back((*batch)[0].tensor().const_data_ptr<int64_t>()[row * 4]);
    }
  }
  return values;
}

TEST_F(TokenDataTest, TrainsOnEveryWindowOnceInANewOrderEachEpoch) {
  TokenData data(options());
  data.setup(Stage::kTrain);
  const auto loader = data.train_dataloader();
  EXPECT_EQ(loader->num_batches(), 8);  // of 10 + 20 windows
  EXPECT_EQ(loader->batch_size(), 4);
  const Values first = starts(*loader, 0);
  EXPECT_EQ(first.size(), 30u);
  EXPECT_EQ(std::set<int64_t>(first.begin(), first.end()).size(), 30u);
  EXPECT_NE(first, starts(*loader, 1));
  EXPECT_EQ(first, starts(*loader, 0));
}

TEST_F(TokenDataTest, MixesFilesByTheirWeights) {
  TokenData::Options mixed = options();
  mixed.weights = {3, 1};
  mixed.windows_per_epoch = 20;
  TokenData data(mixed);
  data.setup(Stage::kTrain);
  const auto loader = data.train_dataloader();
  for (int64_t epoch = 0; epoch < 3; ++epoch) {
    const Values values = starts(*loader, epoch);
    EXPECT_EQ(values.size(), 20u);
    EXPECT_EQ(std::count_if(values.begin(), values.end(), [](int64_t value) { return value < 1000; }), 15);
  }
}

TEST_F(TokenDataTest, ShortEpochsGoThroughAllWindowsInTurn) {
  TokenData::Options brief = options();
  brief.windows_per_epoch = 10;
  TokenData data(brief);
  data.setup(Stage::kTrain);
  const auto loader = data.train_dataloader();
  std::set<int64_t> seen;
  for (int64_t epoch = 0; epoch < 3; ++epoch) {
    for (const int64_t value : starts(*loader, epoch)) seen.insert(value);
  }
  EXPECT_EQ(seen.size(), 30u);
}

TEST_F(TokenDataTest, ASplitThatIsNotGivenHasNoLoader) {
  for (const Stage stage : {Stage::kTrain, Stage::kValidate, Stage::kTest, Stage::kPredict}) {
    TokenData data((TokenData::Options()));
    data.setup(stage);
    EXPECT_EQ(data.train_dataloader(), nullptr);
    EXPECT_EQ(data.val_dataloader(), nullptr);
    EXPECT_EQ(data.test_dataloader(), nullptr);
    EXPECT_EQ(data.predict_dataloader(), nullptr);
  }
}

TEST_F(TokenDataTest, EvaluatesInOrderWithoutOverlap) {
  TokenData::Options all = options();
  all.val_files = {path("a.bin")};
  all.test_files = {path("b.bin")};
  all.predict_files = {path("raw.bin")};
  all.stride = 1;
  all.type = std::nullopt;
  TokenData data(all);
  data.setup(Stage::kTrain);
  EXPECT_EQ(data.train_dataloader()->num_batches(), 29);  // of 37 + 77 windows
  const auto val = data.val_dataloader();
  EXPECT_EQ(val->batch_size(), 2);
  EXPECT_EQ(starts(*val), (Values{0, 4, 8, 12, 16, 20, 24, 28, 32, 36}));
  data.setup(Stage::kTest);
  EXPECT_EQ(starts(*data.test_dataloader()).front(), 1000);
  EXPECT_THAT(error_text<DataError>([&] { data.setup(Stage::kPredict); }),
              AllOf(HasSubstr("raw.bin"), HasSubstr("Give the type")));
}

TEST_F(TokenDataTest, ReadsRawFilesOfAGivenType) {
  TokenData::Options raw;
  raw.predict_files = {path("raw.bin")};
  raw.type = "uint16";
  raw.sequence_length = 4;
  TokenData data(raw);
  data.setup(Stage::kPredict);
  EXPECT_EQ(starts(*data.predict_dataloader()), (Values{1, 5}));
}

TEST_F(TokenDataTest, TheBatchSizeFinderSetsTheTrainingBatch) {
  TokenData data(options());
  data.setup(Stage::kTrain);
  EXPECT_TRUE(data.set_batch_size(15));
  EXPECT_EQ(data.train_dataloader()->num_batches(), 2);
}

TEST_F(TokenDataTest, ErrorsNameTheFileAndTheOption) {
  const auto config_text = [](const TokenData::Options& options) {
    return error_text<ConfigError>([&] { TokenData data(options); });
  };
  TokenData::Options wrong = options();
  wrong.weights = {1};
  EXPECT_THAT(config_text(wrong), HasSubstr("each of the 2 train_files, got 1"));
  wrong = options();
  wrong.type = "int16";
  EXPECT_THAT(config_text(wrong), AllOf(HasSubstr("type"), HasSubstr("uint16, uint32")));
  wrong = options();
  wrong.sequence_length = 0;
  EXPECT_THAT(config_text(wrong), HasSubstr("sequence_length must be >= 1, got 0"));
  wrong = options();
  wrong.weights = {1, -1};
  EXPECT_THAT(config_text(wrong), HasSubstr("weights must be >= 0"));

  wrong = options();
  wrong.train_files[1] = path("none.bin");
  EXPECT_THAT(error_text<DataError>([&] { TokenData(wrong).setup(Stage::kTrain); }), HasSubstr("none.bin"));
  wrong = options();
  wrong.sequence_length = 50;
  wrong.weights = {1, 1};
  EXPECT_THAT(error_text<DataError>([&] { TokenData(wrong).setup(Stage::kTrain); }),
              AllOf(HasSubstr("a.bin has no window of sequence_length 50"), HasSubstr("weight 1")));
}

}  // namespace
}  // namespace levin
