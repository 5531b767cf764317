#include "trainer/data/iterable_loader.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "tests/trainer/core/error_text.h"
#include "tests/trainer/data/counting_stream.h"
#include "trainer/core/error.h"

namespace levin {
namespace {

using Values = std::vector<int64_t>;
using Batches = std::vector<Values>;

std::shared_ptr<CountingDataset> counting(int64_t size, CountingOptions options = {}) {
  return std::make_shared<CountingDataset>(size, options);
}

Batches rest(DataLoader& loader) {
  Batches batches;
  while (const std::optional<Batch> batch = loader.next()) batches.push_back(numbers_of(*batch));
  return batches;
}

/// What each rank delivers of epoch 0, and checks num_batches() against it.
std::vector<Batches> of_ranks(int64_t size, const LoaderOptions& options, LoaderContext context) {
  std::vector<Batches> ranks;
  for (context.rank = 0; context.rank < context.world_size; ++context.rank) {
    IterableLoader loader(counting(size), options);
    loader.attach(context);
    const std::optional<int64_t> num_batches = loader.num_batches();
    ranks.push_back(rest(loader));
    EXPECT_EQ(num_batches, static_cast<int64_t>(ranks.back().size())) << size << " rank " << context.rank;
    EXPECT_EQ(loader.num_batches(), num_batches);
  }
  return ranks;
}

TEST(IterableLoaderTest, DeliversInOrderWithAPartialLastBatch) {
  for (const int64_t num_workers : {0, 1, 2}) {
    IterableLoader loader(counting(7), {.batch_size = 3, .num_workers = num_workers});
    loader.start_epoch(0);
    EXPECT_EQ(rest(loader), (Batches{{0, 1, 2}, {3, 4, 5}, {6}}));
    EXPECT_FALSE(loader.next().has_value());
    loader.start_epoch(2);
    EXPECT_EQ(rest(loader), (Batches{{2000, 2001, 2002}, {2003, 2004, 2005}, {2006}}));
  }
}

TEST(IterableLoaderTest, DropLastLeavesOutThePartialBatch) {
  EXPECT_EQ(of_ranks(7, {.batch_size = 3, .drop_last = true}, {}), (std::vector<Batches>{{{0, 1, 2}, {3, 4, 5}}}));
  EXPECT_EQ(of_ranks(6, {.batch_size = 3, .drop_last = true}, {}), (std::vector<Batches>{{{0, 1, 2}, {3, 4, 5}}}));
}

TEST(IterableLoaderTest, RanksTakeTurns) {
  EXPECT_EQ(of_ranks(8, {.batch_size = 2}, {.world_size = 2}),
            (std::vector<Batches>{{{0, 1}, {4, 5}}, {{2, 3}, {6, 7}}}));
}

TEST(IterableLoaderTest, TrainingOfSeveralRanksLeavesOutARestThatIsNoRound) {
  EXPECT_EQ(of_ranks(7, {.batch_size = 2}, {.world_size = 2}), (std::vector<Batches>{{{0, 1}}, {{2, 3}}}));
}

TEST(IterableLoaderTest, EvaluationDealsOutTheRest) {
  const LoaderContext context{.world_size = 3, .has_equal_ranks = false};
  EXPECT_EQ(of_ranks(9, {.batch_size = 2}, context), (std::vector<Batches>{{{0, 1}, {6, 7}}, {{2, 3}, {8}}, {{4, 5}}}));
  EXPECT_EQ(of_ranks(1, {.batch_size = 2}, context), (std::vector<Batches>{{{0}}, {}, {}}));
}

TEST(IterableLoaderTest, InOrderEachEpochIsTheFirst) {
  IterableLoader loader(counting(2), {.batch_size = 2});
  loader.attach({.is_in_order = true});
  loader.start_epoch(5);
  EXPECT_EQ(rest(loader), (Batches{{0, 1}}));
}

TEST(IterableLoaderTest, WithoutASizeTheNumberOfBatchesIsNotKnown) {
  EXPECT_EQ(IterableLoader(counting(7, {.knows_size = false}), {}).num_batches(), std::nullopt);
  EXPECT_EQ(IterableLoader(counting(7), {.batch_size = 3}).batch_size(), 3);
}

TEST(IterableLoaderTest, AnEmptyDatasetHasNoBatches) {
  EXPECT_EQ(of_ranks(0, {.batch_size = 3}, {}), (std::vector<Batches>{{}}));
}

// Field case A7: the position counts what was delivered, not what workers have read ahead.
TEST(IterableLoaderTest, ResumesAfterWhatWasDelivered) {
  for (const bool has_state : {false, true}) {
    for (const int64_t num_workers : {0, 2, 4}) {
      const LoaderOptions options{.batch_size = 2, .num_workers = num_workers, .prefetch_factor = 4};
      for (size_t delivered = 0; delivered <= 5; ++delivered) {
        IterableLoader first(counting(9, {.has_state = has_state}), options);
        first.attach({});
        first.start_epoch(1);
        for (size_t i = 0; i < delivered; ++i) ASSERT_TRUE(first.next().has_value());
        const auto dataset = counting(9, {.has_state = has_state});
        IterableLoader second(dataset, options);
        second.attach({});
        second.load_state(first.state());
        EXPECT_EQ(second.num_batches(), 5);
        const Batches all = {{1000, 1001}, {1002, 1003}, {1004, 1005}, {1006, 1007}, {1008}};
        EXPECT_EQ(rest(second), Batches(all.begin() + static_cast<std::ptrdiff_t>(delivered), all.end()));
        // A stream that knows its position reads nothing twice.
        const int64_t num_skipped = std::min<int64_t>(2 * static_cast<int64_t>(delivered), 9);
        EXPECT_EQ(dataset->num_read(), has_state ? 9 - num_skipped : 9) << delivered;
      }
    }
  }
}

TEST(IterableLoaderTest, StoppingKeepsThePosition) {
  for (const int64_t num_workers : {0, 2}) {
    IterableLoader loader(counting(8), {.batch_size = 2, .num_workers = num_workers});
    loader.start_epoch(0);
    loader.next();
    loader.stop();
    EXPECT_EQ(loader.state().integer("samples_delivered"), 2);
    EXPECT_EQ(rest(loader), (Batches{{2, 3}, {4, 5}, {6, 7}}));
  }
}

TEST(IterableLoaderTest, AnEpochMayBeLeftEarly) {
  IterableLoader loader(counting(8), {.batch_size = 2, .num_workers = 2});
  loader.start_epoch(0);
  loader.next();
  loader.start_epoch(1);
  EXPECT_EQ(rest(loader).front(), (Values{1000, 1001}));
}

TEST(IterableLoaderTest, ADatasetThatHasBecomeShorterIsAnError) {
  IterableLoader first(counting(8), {.batch_size = 2});
  first.start_epoch(0);
  for (int i = 0; i < 3; ++i) first.next();
  IterableLoader second(counting(5), {.batch_size = 2});
  second.load_state(first.state());
  EXPECT_EQ(error_text<DataError>([&] { second.next(); }),
            "[IterableLoader] the position is after 6 samples of the epoch, but it has only 5.");
}

TEST(IterableLoaderTest, APositionThatCannotBeIsAnError) {
  for (const char* name : {"epoch", "batches_delivered", "samples_delivered"}) {
    IterableLoader loader(counting(5), {});
    StateDict state = loader.state();
    state.replace(name, int64_t{-1});
    EXPECT_NE(error_text<CheckpointError>([&] { loader.load_state(state); }).find("the saved position cannot be"),
              std::string::npos);
  }
}

/// Fails at sample 4.
class FailingDataset final : public IterableDataset {
 public:
  std::unique_ptr<SampleStream> open(const SampleRandom& /*random*/) const override {
    class Stream final : public SampleStream {
     public:
      std::optional<Batch> next() override {
        if (position_ == 4) throw std::runtime_error("the line is broken");
        return Batch(at::full({}, position_++));
      }

     private:
      int64_t position_ = 0;
    };
    return std::make_unique<Stream>();
  }
};

TEST(IterableLoaderTest, AnErrorOfTheStreamNamesTheBatch) {
  for (const int64_t num_workers : {0, 2}) {
    IterableLoader loader(std::make_shared<FailingDataset>(), {.batch_size = 2, .num_workers = num_workers});
    loader.start_epoch(0);
    EXPECT_EQ(numbers_of(*loader.next()), (Values{0, 1}));
    EXPECT_EQ(numbers_of(*loader.next()), (Values{2, 3}));
    const std::string text = error_text<DataError>([&] { loader.next(); });
    EXPECT_NE(text.find("[IterableLoader] batch 2 could not be made"), std::string::npos) << text;
    EXPECT_NE(text.find("the line is broken"), std::string::npos) << text;
  }
}

TEST(IterableLoaderTest, ACollateFunctionMakesTheBatches) {
  const Collate sum = [](std::span<const Batch> samples) {
    int64_t total = 0;
    for (const Batch& sample : samples) total += sample.tensor().item<int64_t>();
    return Batch(at::full({1}, total));
  };
  IterableLoader loader(counting(5), {.batch_size = 2, .collate = sum});
  loader.start_epoch(0);
  EXPECT_EQ(rest(loader), (Batches{{1}, {5}, {4}}));
}

TEST(IterableLoaderTest, OptionsMustFit) {
  EXPECT_EQ(error_text<ConfigError>([] { IterableLoader(counting(5), {.batch_size = 0}); }),
            "[IterableLoader] batch_size must be >= 1, got 0.");
  const std::string text =
      "[IterableLoader] an iterable dataset decides its own order: shuffle and sampler must not be "
      "set.";
  EXPECT_EQ(error_text<ConfigError>([] { IterableLoader(counting(5), {.shuffle = true}); }), text);
  EXPECT_EQ(
      error_text<ConfigError>([] { IterableLoader(counting(5), {.sampler = std::make_shared<SequentialSampler>(5)}); }),
      text);
}

}  // namespace
}  // namespace levin
