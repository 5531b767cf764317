#include "trainer/core/random.h"

#include <ATen/ops/equal.h>
#include <ATen/ops/rand.h>
#include <gtest/gtest.h>

#include <set>

namespace levin {
namespace {

// The first five outputs of SplitMix64 from the state 1234567 (Rosetta Code, "Pseudo-random numbers/Splitmix64").
TEST(RandomTest, MixSeedIsSplitMix64) {
  EXPECT_EQ(mix_seed(1234567, 0), 6457827717110365317ULL);
  EXPECT_EQ(mix_seed(1234567, 1), 3203168211198807973ULL);
  EXPECT_EQ(mix_seed(1234567, 2), 9817491932198370423ULL);
  EXPECT_EQ(mix_seed(1234567, 3), 4593380528125082431ULL);
  EXPECT_EQ(mix_seed(1234567, 4), 16408922859458223821ULL);
}

TEST(RandomTest, MixSeedDiffersForSmallSeedsAndStreams) {
  std::set<uint64_t> values;
  for (uint64_t seed = 0; seed < 32; ++seed) {
    for (uint64_t stream = 0; stream < 32; ++stream) values.insert(mix_seed(seed, stream));
  }
  EXPECT_EQ(values.size(), 32 * 32);
}

TEST(RandomTest, OneSeedGivesOneSequence) {
  seed_everything(7);
  const at::Tensor first = at::rand({20});
  seed_everything(7);
  const at::Tensor second = at::rand({20});
  seed_everything(8);
  const at::Tensor other = at::rand({20});
  EXPECT_TRUE(at::equal(first, second));
  EXPECT_FALSE(at::equal(first, other));
}

TEST(RandomTest, RandomSeedHas32Bits) {
  std::set<uint64_t> seeds;
  for (int i = 0; i < 8; ++i) {
    seeds.insert(random_seed());
    EXPECT_LT(*seeds.rbegin(), uint64_t{1} << 32);
  }
  EXPECT_GT(seeds.size(), 1);
}

}  // namespace
}  // namespace levin
