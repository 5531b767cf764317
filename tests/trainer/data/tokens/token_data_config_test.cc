#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/trainer/config/data_config.h"
#include "tests/trainer/core/error_text.h"
#include "tests/trainer/data/tokens/token_test_files.h"
#include "trainer/core/error.h"

namespace levin {
namespace {

using testing::HasSubstr;

TEST(TokenDataConfigTest, YamlNamesFilesAndOptions) {
  const TestFolder folder;
  write_tokens(folder / "web.bin", ramp(0, 41));
  write_bytes(folder / "books.bin", raw_tokens<uint16_t>(std::vector<uint16_t>(21, 9)));
  const RunConfig config = read_data_config(
      fmt::format("  class: TokenData\n  train_files: [{0}/web.bin, {0}/books.bin]\n  val_files: [{0}/web.bin]\n"
                  "  type: uint16\n  weights: [3, 1]\n  windows_per_epoch: 8\n  sequence_length: 4\n  batch_size: 2\n"
                  "  num_workers: 2\n",
                  folder.path().string()));
  const auto data = config.data.make();
  data->setup(Stage::kTrain);
  const auto loader = data->train_dataloader();
  loader->attach({.seed = 1});
  loader->start_epoch(0);
  int64_t num_books = 0;
  while (const auto batch = loader->next()) {
    EXPECT_EQ((*batch)[1].tensor().sizes(), (at::IntArrayRef{2, 4}));
    for (const int64_t row : {0, 1}) num_books += (*batch)[1].tensor().select(0, row).eq(9).all().item<bool>() ? 1 : 0;
  }
  EXPECT_EQ(loader->num_batches(), 4);
  EXPECT_EQ(num_books, 2);
  EXPECT_EQ(data->val_dataloader()->num_batches(), 1);
  EXPECT_THAT(config.yaml, HasSubstr("  weights: [3, 1]\n"));
}

TEST(TokenDataConfigTest, WrongOptionsAreListedWithTheirLine) {
  const std::string text = error_text<ConfigError>(
      [] { read_data_config("  class: TokenData\n  type: int8\n  batch_size: 0\n  sequence_lenght: 4\n"); });
  EXPECT_THAT(text, HasSubstr("a.yaml:5: data.type must be one of: uint16, uint32, got int8"));
  EXPECT_THAT(text, HasSubstr("a.yaml:6: data.batch_size must be >= 1, got 0"));
  EXPECT_THAT(text, HasSubstr("did you mean \"sequence_length\"?"));
}

}  // namespace
}  // namespace levin
