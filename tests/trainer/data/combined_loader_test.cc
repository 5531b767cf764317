#include "trainer/data/combined_loader.h"

#include <ATen/ops/arange.h>
#include <gtest/gtest.h>

#include "tests/trainer/core/error_text.h"
#include "tests/trainer/data/counting_stream.h"
#include "trainer/core/error.h"
#include "trainer/data/dataset_loader.h"
#include "trainer/data/iterable_loader.h"

namespace levin {
namespace {

/// A loader of the numbers `begin` ... begin + size - 1.
std::unique_ptr<DataLoader> numbers(int64_t begin, int64_t size, const LoaderOptions& options) {
  return std::make_unique<DatasetLoader>(std::make_shared<TensorDataset>(at::arange(begin, begin + size)), options);
}

/// Two loaders, a of 3 batches and b of 5.
CombinedLoader three_and_five(CombineMode mode, const LoaderOptions& options = {.batch_size = 1}) {
  CombinedLoader::Loaders loaders;
  loaders.emplace_back("a", numbers(0, 3 * options.batch_size, options));
  loaders.emplace_back("b", numbers(100, 5 * options.batch_size, options));
  return CombinedLoader(std::move(loaders), mode);
}

using Line = std::string;

/// What a batch has, as "a 0 1 b 100 101".
Line describe(const Batch& batch) {
  Line line;
  for (const auto& [name, part] : batch.fields()) {
    line += (line.empty() ? "" : " ") + name;
    for (const int64_t number : numbers_of(part)) line += " " + std::to_string(number);
  }
  return line;
}

std::vector<Line> rest(DataLoader& loader) {
  std::vector<Line> lines;
  while (const std::optional<Batch> batch = loader.next()) lines.push_back(describe(*batch));
  return lines;
}

std::vector<Line> epoch(CombineMode mode) {
  CombinedLoader loader = three_and_five(mode);
  loader.start_epoch(0);
  std::vector<Line> lines = rest(loader);
  EXPECT_FALSE(loader.next().has_value());  // it stays at the end
  EXPECT_EQ(loader.num_batches(), static_cast<int64_t>(lines.size()));
  return lines;
}

TEST(CombinedLoaderTest, MinSizeEndsWithTheFirst) {
  EXPECT_EQ(epoch(CombineMode::kMinSize), (std::vector<Line>{"a 0 b 100", "a 1 b 101", "a 2 b 102"}));
}

TEST(CombinedLoaderTest, MaxSizeCycleBeginsTheShorterAgain) {
  EXPECT_EQ(epoch(CombineMode::kMaxSizeCycle),
            (std::vector<Line>{"a 0 b 100", "a 1 b 101", "a 2 b 102", "a 0 b 103", "a 1 b 104"}));
}

TEST(CombinedLoaderTest, MaxSizeLeavesTheShorterOut) {
  EXPECT_EQ(epoch(CombineMode::kMaxSize), (std::vector<Line>{"a 0 b 100", "a 1 b 101", "a 2 b 102", "b 103", "b 104"}));
}

TEST(CombinedLoaderTest, SequentialIsOneAfterTheOther) {
  EXPECT_EQ(epoch(CombineMode::kSequential),
            (std::vector<Line>{"a 0", "a 1", "a 2", "b 100", "b 101", "b 102", "b 103", "b 104"}));
}

TEST(CombinedLoaderTest, LoadersOfOneLengthEndTogether) {
  for (const CombineMode mode : {CombineMode::kMinSize, CombineMode::kMaxSizeCycle, CombineMode::kMaxSize}) {
    CombinedLoader::Loaders loaders;
    for (const char* name : {"a", "b", "c"}) loaders.emplace_back(name, numbers(0, 2, {.batch_size = 1}));
    CombinedLoader loader(std::move(loaders), mode);
    loader.start_epoch(0);
    EXPECT_EQ(rest(loader), (std::vector<Line>{"a 0 b 0 c 0", "a 1 b 1 c 1"}));
  }
}

TEST(CombinedLoaderTest, ASecondPassHasAnotherOrder) {
  CombinedLoader::Loaders loaders;
  loaders.emplace_back("short", numbers(0, 20, {.batch_size = 20, .shuffle = true}));
  loaders.emplace_back("long", numbers(0, 2, {.batch_size = 1}));
  CombinedLoader loader(std::move(loaders), CombineMode::kMaxSizeCycle);
  loader.attach({.seed = 1});
  loader.start_epoch(0);
  const std::vector<int64_t> first = numbers_of((*loader.next())["short"]);
  const std::vector<int64_t> second = numbers_of((*loader.next())["short"]);
  EXPECT_NE(first, second);
  EXPECT_FALSE(loader.next().has_value());
  loader.start_epoch(1);
  EXPECT_NE(numbers_of((*loader.next())["short"]), second);  // which is that of no epoch
}

TEST(CombinedLoaderTest, EachEpochBeginsAnew) {
  CombinedLoader loader = three_and_five(CombineMode::kMaxSizeCycle);
  loader.start_epoch(0);
  for (int i = 0; i < 4; ++i) loader.next();
  loader.start_epoch(1);
  EXPECT_EQ(rest(loader).size(), 5u);
}

TEST(CombinedLoaderTest, ResumesAtEachBatch) {
  for (const CombineMode mode :
       {CombineMode::kMinSize, CombineMode::kMaxSizeCycle, CombineMode::kMaxSize, CombineMode::kSequential}) {
    for (const int64_t num_workers : {0, 2}) {
      const LoaderOptions options{.batch_size = 2, .shuffle = true, .num_workers = num_workers};
      CombinedLoader whole = three_and_five(mode, options);
      whole.attach({.seed = 5});
      whole.start_epoch(2);
      const std::vector<Line> expected = rest(whole);
      // Up to the call that says the epoch is over.
      for (size_t calls = 0; calls <= expected.size() + 1; ++calls) {
        CombinedLoader first = three_and_five(mode, options);
        first.attach({.seed = 5});
        first.start_epoch(2);
        for (size_t i = 0; i < calls; ++i) first.next();
        CombinedLoader second = three_and_five(mode, options);
        second.attach({.seed = 5});
        second.load_state(first.state());
        const size_t delivered = std::min(calls, expected.size());
        EXPECT_EQ(rest(second),
                  std::vector<Line>(expected.begin() + static_cast<std::ptrdiff_t>(delivered), expected.end()))
            << "mode " << static_cast<int>(mode) << ", after " << calls;
      }
    }
  }
}

TEST(CombinedLoaderTest, ChangedRanksGoOnWithTheRest) {
  CombinedLoader first = three_and_five(CombineMode::kSequential, {.batch_size = 2});
  first.attach({});
  first.start_epoch(0);
  for (int i = 0; i < 4; ++i) first.next();  // a 0 ... a 5, b 100 101
  std::vector<std::vector<Line>> ranks;
  for (int64_t rank = 0; rank < 2; ++rank) {
    CombinedLoader second = three_and_five(CombineMode::kSequential, {.batch_size = 2});
    second.attach({.rank = rank, .world_size = 2});
    second.load_state(first.state());
    ranks.push_back(rest(second));
  }
  EXPECT_EQ(ranks, (std::vector<std::vector<Line>>{{"b 102 103", "b 106 107"}, {"b 104 105", "b 108 109"}}));
}

TEST(CombinedLoaderTest, SizesAreThoseOfTheLoaders) {
  EXPECT_EQ(three_and_five(CombineMode::kMinSize, {.batch_size = 2}).batch_size(), 4);
  EXPECT_EQ(three_and_five(CombineMode::kSequential, {.batch_size = 2}).batch_size(), 2);
  CombinedLoader::Loaders loaders;
  loaders.emplace_back("a", numbers(0, 3, {}));
  const auto stream = std::make_shared<CountingDataset>(5, CountingOptions{.knows_size = false});
  loaders.emplace_back("b", std::make_unique<IterableLoader>(stream, LoaderOptions()));
  EXPECT_EQ(CombinedLoader(std::move(loaders), CombineMode::kMinSize).num_batches(), std::nullopt);
}

TEST(CombinedLoaderTest, LoadersAndNamesMustFit) {
  const auto error = [](std::vector<std::string> names) {
    CombinedLoader::Loaders loaders;
    for (const std::string& name : names) loaders.emplace_back(name, numbers(0, 1, {}));
    return error_text<ConfigError>([&] { CombinedLoader(std::move(loaders), CombineMode::kMinSize); });
  };
  EXPECT_EQ(error({}), "[CombinedLoader] there must be at least one loader, got none.");
  const std::string text = "[CombinedLoader] each loader needs a name of its own without a dot, got ";
  EXPECT_EQ(error({"a", "a"}), text + "\"a\".");
  EXPECT_EQ(error({""}), text + "\"\".");
  EXPECT_EQ(error({"a.b"}), text + "\"a.b\".");
  CombinedLoader::Loaders none;
  none.emplace_back("a", nullptr);
  EXPECT_EQ(error_text<ConfigError>([&] { CombinedLoader(std::move(none), CombineMode::kMinSize); }),
            "[CombinedLoader] the loader \"a\" is nullptr.");
}

TEST(CombinedLoaderTest, ModesHaveNames) {
  EXPECT_EQ(parse_combine_mode("min_size"), CombineMode::kMinSize);
  EXPECT_EQ(parse_combine_mode("max_size_cycle"), CombineMode::kMaxSizeCycle);
  EXPECT_EQ(parse_combine_mode("max_size"), CombineMode::kMaxSize);
  EXPECT_EQ(parse_combine_mode("sequential"), CombineMode::kSequential);
  EXPECT_EQ(error_text<ConfigError>([] { parse_combine_mode("longest"); }),
            "[CombinedLoader] the mode must be one of: min_size, max_size_cycle, max_size, sequential, got longest.");
}

}  // namespace
}  // namespace levin
