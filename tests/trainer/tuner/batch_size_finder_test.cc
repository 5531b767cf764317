#include "trainer/tuner/batch_size_finder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trainer/core/error.h"

namespace levin {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct Outcome {
  std::vector<int64_t> sizes;
  int64_t found;
};

// A machine on which `capacity` samples fit.
Outcome search(BatchSizeFinderOptions options, int64_t capacity, int64_t num_samples = 1 << 20) {
  BatchSizeFinder finder(std::move(options));
  Outcome outcome;
  while (const auto size = finder.next()) {
    outcome.sizes.push_back(*size);
    finder.add(*size <= capacity, 100.0);
    if (*size <= capacity && *size >= num_samples) finder.set_largest(num_samples);
  }
  outcome.found = finder.result().batch_size;
  return outcome;
}

TEST(BatchSizeFinderTest, PowerDoublesWhileItFits) {
  const Outcome outcome = search({}, 50);
  EXPECT_THAT(outcome.sizes, ElementsAre(2, 4, 8, 16, 32, 64));
  EXPECT_EQ(outcome.found, 32);
}

TEST(BatchSizeFinderTest, BinaryFindsTheBorderAndLeavesAMargin) {
  EXPECT_EQ(search({.mode = "binary", .margin = 0.0}, 50).found, 50);
  EXPECT_EQ(search({.mode = "binary", .margin = 0.05}, 50).found, 47);
  EXPECT_EQ(search({.mode = "binary", .margin = 0.05}, 1).found, 1);
  for (int64_t capacity = 1; capacity < 200; ++capacity) {
    EXPECT_EQ(search({.mode = "binary", .margin = 0.0}, capacity).found, capacity);
  }
}

TEST(BatchSizeFinderTest, AFirstSizeThatIsTooLargeIsHalved) {
  const Outcome outcome = search({.initial_batch_size = 64}, 20);
  EXPECT_THAT(outcome.sizes, ElementsAre(64, 32, 16));
  EXPECT_EQ(outcome.found, 16);
}

TEST(BatchSizeFinderTest, StopsAtTheLimits) {
  EXPECT_EQ(search({.max_batch_size = 100}, 1000).found, 100);
  EXPECT_THAT(search({.max_trials = 3}, 1000).sizes, ElementsAre(2, 4, 8));
  // The margin is for memory, which has not run out here.
  EXPECT_EQ(search({.mode = "binary", .max_batch_size = 100}, 1000).found, 100);
}

TEST(BatchSizeFinderTest, NoLargerThanTheData) {
  const Outcome outcome = search({}, 1000, 40);
  EXPECT_THAT(outcome.sizes, ElementsAre(2, 4, 8, 16, 32, 64));
  EXPECT_EQ(outcome.found, 40);
}

TEST(BatchSizeFinderTest, NothingFits) {
  BatchSizeFinder finder;
  while (finder.next()) finder.add(false, 0.0);
  try {
    finder.result();
    FAIL();
  } catch (const ModelError& error) {
    EXPECT_THAT(error.what(), HasSubstr("with a batch of 1"));
  }
}

TEST(BatchSizeFinderTest, KeepsWhatWasTried) {
  BatchSizeFinder finder({.max_trials = 2});
  finder.add(true, 250.0);
  finder.add(false, 300.0);
  const std::vector<BatchSizeTrial> trials = finder.result().trials;
  ASSERT_EQ(trials.size(), 2u);
  EXPECT_EQ(trials[0].samples_per_second, 250.0);
  EXPECT_FALSE(trials[1].fits);
  EXPECT_EQ(trials[1].samples_per_second, 0.0);
}

TEST(BatchSizeFinderTest, WrongOptionsAreRefused) {
  try {
    const BatchSizeFinder finder({.mode = "guess", .initial_batch_size = 9000});
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("mode must be one of: power, binary"));
    EXPECT_THAT(error.what(), HasSubstr("initial_batch_size (9000) is above max_batch_size (8192)"));
  }
}

}  // namespace
}  // namespace levin
