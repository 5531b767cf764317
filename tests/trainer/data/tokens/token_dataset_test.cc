#include "trainer/data/tokens/token_dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/trainer/core/error_text.h"
#include "tests/trainer/data/tokens/token_test_files.h"
#include "trainer/core/error.h"
#include "trainer/data/dataset_loader.h"

namespace levin {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using Values = std::vector<int64_t>;

class TokenDatasetTest : public testing::Test {
 protected:
  /// Of one file with the tokens 0, 1, ... num_tokens - 1.
  TokenDataset of_ramp(size_t num_tokens, TokenWindows windows) const {
    return TokenDataset({ramp_file(folder_ / "a.bin", 0, num_tokens)}, windows);
  }

  const TestFolder folder_;
};

std::pair<Values, Values> read(const TokenDataset& dataset, const Values& indices) {
  const Batch batch = dataset.get_batch(indices, {});
  const auto [input, target] = batch.tensors<2>();
  EXPECT_EQ(input.sizes(), target.sizes());
  EXPECT_EQ(input.size(0), static_cast<int64_t>(indices.size()));
  return {values_of(input), values_of(target)};
}

TEST_F(TokenDatasetTest, TargetsAreInputsShiftedByOne) {
  const TokenDataset dataset = of_ramp(9, {.sequence_length = 4});
  EXPECT_EQ(dataset.size(), 2);
  const auto [input, target] = read(dataset, {1, 0});
  EXPECT_EQ(input, (Values{4, 5, 6, 7, 0, 1, 2, 3}));
  EXPECT_EQ(target, (Values{5, 6, 7, 8, 1, 2, 3, 4}));
}

TEST_F(TokenDatasetTest, TheLastWindowEndsWithinTheFile) {
  for (const auto& [num_tokens, expected] :
       std::vector<std::pair<size_t, int64_t>>{{5, 1}, {8, 1}, {9, 2}, {12, 2}, {13, 3}}) {
    const TokenDataset dataset = of_ramp(num_tokens, {.sequence_length = 4});
    EXPECT_EQ(dataset.size(), expected) << num_tokens;
    EXPECT_EQ(read(dataset, {expected - 1}).second.back(), expected * 4);
  }
}

TEST_F(TokenDatasetTest, WindowsMayOverlapOrLeaveGaps) {
  const TokenDataset overlapping = of_ramp(7, {.sequence_length = 4, .stride = 1});
  EXPECT_EQ(overlapping.size(), 3);
  EXPECT_EQ(read(overlapping, {2}).first, (Values{2, 3, 4, 5}));
  EXPECT_EQ(read(overlapping, {2}).second, (Values{3, 4, 5, 6}));
  const TokenDataset sparse = of_ramp(25, {.sequence_length = 4, .stride = 10});
  EXPECT_EQ(sparse.size(), 3);
  EXPECT_EQ(read(sparse, {2}).first, (Values{20, 21, 22, 23}));
}

TEST_F(TokenDatasetTest, AWindowOfOneTokenIsTheSmallest) {
  const TokenDataset dataset = of_ramp(2, {.sequence_length = 1});
  EXPECT_EQ(dataset.size(), 1);
  EXPECT_EQ(read(dataset, {0}), (std::pair<Values, Values>{{0}, {1}}));
}

TEST_F(TokenDatasetTest, AWindowLiesInOneFile) {
  const TokenDataset dataset({ramp_file(folder_ / "a.bin", 0, 8), ramp_file(folder_ / "short.bin", 50, 3),
                              ramp_file(folder_ / "b.bin", 100000, 10, {.type = TokenType::kUint32})},
                             {.sequence_length = 3});
  EXPECT_EQ(dataset.windows_per_file(), (Values{2, 0, 3}));
  EXPECT_EQ(dataset.size(), 5);
  const auto [input, target] = read(dataset, {1, 2, 4});
  EXPECT_EQ(input, (Values{3, 4, 5, 100000, 100001, 100002, 100006, 100007, 100008}));
  EXPECT_EQ(target, (Values{4, 5, 6, 100001, 100002, 100003, 100007, 100008, 100009}));
}

TEST_F(TokenDatasetTest, AnEmptyBatchHasNoRows) {
  const Batch batch = of_ramp(9, {.sequence_length = 4}).get_batch({}, {});
  EXPECT_EQ(batch[0].tensor().sizes(), (at::IntArrayRef{0, 4}));
}

TEST_F(TokenDatasetTest, RefusesIndicesThatAreOutOfRange) {
  const TokenDataset dataset = of_ramp(9, {.sequence_length = 4});
  for (const int64_t index : {-1, 2}) {
    EXPECT_THAT(error_text<DataError>([&] {
                  dataset.get_batch(Values{0, index}, {});
                }),
                HasSubstr("between 0 and 1, got " + std::to_string(index)));
  }
}

TEST_F(TokenDatasetTest, RefusesOptionsAndFilesThatGiveNoWindow) {
  const auto config_text = [&](TokenWindows windows) { return error_text<ConfigError>([&] { of_ramp(9, windows); }); };
  EXPECT_THAT(config_text({.sequence_length = 0}), HasSubstr("sequence_length must be >= 1, got 0"));
  EXPECT_THAT(config_text({.stride = 0}), HasSubstr("stride must be >= 1, got 0"));
  EXPECT_THAT(config_text({.vocab_size = 0}), HasSubstr("vocab_size must be >= 1, got 0"));
  EXPECT_THROW(TokenDataset({}, {}), ConfigError);
  EXPECT_THAT(error_text<DataError>([&] { of_ramp(4, {.sequence_length = 4}); }),
              AllOf(HasSubstr("needs 5 tokens"), HasSubstr("a.bin"), HasSubstr("has 4")));
}

TEST_F(TokenDatasetTest, RefusesTokensOutsideOfTheVocabulary) {
  EXPECT_NO_THROW(read(of_ramp(9, {.sequence_length = 4, .vocab_size = 9}), {0, 1}));
  const TokenDataset given = of_ramp(9, {.sequence_length = 4, .vocab_size = 8});
  EXPECT_NO_THROW(read(given, {0}));
  EXPECT_THAT(error_text<DataError>([&] { read(given, {1}); }),
              AllOf(HasSubstr("a.bin"), HasSubstr("below 8"), HasSubstr("got 8"), HasSubstr("token 4 and 8"),
                    HasSubstr("uint16")));
  // 32-bit tokens that are read as 16-bit ones, with a side file that says so.
  write_bytes(folder_ / "b.bin", raw_tokens<uint32_t>({70000, 70001, 70002}));
  write_token_file_info(folder_ / "b.bin", {.num_tokens = 6, .vocab_size = 1000});
  const TokenDataset from_side_file({std::make_shared<TokenFile>(folder_ / "b.bin")}, {.sequence_length = 2});
  EXPECT_THAT(error_text<DataError>([&] { read(from_side_file, {0}); }), HasSubstr("b.bin must be below 1000"));
}

TEST_F(TokenDatasetTest, AFileThatIsCutWhileInUseIsAnError) {
  const TokenDataset dataset = of_ramp(60000, {.sequence_length = 8});
  EXPECT_NO_THROW(read(dataset, {7000}));
  std::filesystem::resize_file(folder_ / "a.bin", 100);
  EXPECT_THAT(error_text<DataError>([&] { read(dataset, {7000}); }), HasSubstr("has been cut"));
}

std::vector<Values> rest(DatasetLoader& loader) {
  std::vector<Values> batches;
  while (const auto batch = loader.next()) {
    batches.push_back(values_of((*batch)[0].tensor()));
    const Values target = values_of((*batch)[1].tensor());
    batches.back().insert(batches.back().end(), target.begin(), target.end());
  }
  return batches;
}

std::unique_ptr<DatasetLoader> make_loader(std::shared_ptr<const Dataset> dataset, int64_t num_workers) {
  auto loader = std::make_unique<DatasetLoader>(
      std::move(dataset),
      LoaderOptions{.batch_size = 2, .shuffle = true, .num_workers = num_workers, .prefetch_factor = 4});
  loader->attach({.seed = 1});
  return loader;
}

TEST_F(TokenDatasetTest, BatchesAreTheSameForAnyNumberOfWorkersAndAfterAResume) {
  const auto dataset = std::make_shared<TokenDataset>(of_ramp(41, {.sequence_length = 4}));
  const std::vector<Values> expected = rest(*make_loader(dataset, 0));
  ASSERT_EQ(expected.size(), 5u);
  for (const int64_t num_workers : {0, 2, 4}) {
    EXPECT_EQ(rest(*make_loader(dataset, num_workers)), expected);
    const auto stopped = make_loader(dataset, num_workers);
    stopped->next();
    stopped->next();
    const auto resumed = make_loader(dataset, num_workers);
    resumed->load_state(stopped->state());
    EXPECT_EQ(rest(*resumed), std::vector<Values>(expected.begin() + 2, expected.end()));
  }
  Values starts;
  for (const Values& batch : expected) starts.insert(starts.end(), {batch[0], batch[4]});
  std::sort(starts.begin(), starts.end());
  EXPECT_EQ(starts, (Values{0, 4, 8, 12, 16, 20, 24, 28, 32, 36}));
}

}  // namespace
}  // namespace levin
