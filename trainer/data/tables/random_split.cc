#include "trainer/data/tables/random_split.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "trainer/core/error.h"
#include "trainer/core/random.h"
#include "trainer/data/sampler.h"

namespace levin {

RandomSplit random_split(int64_t size, double val_fraction, double test_fraction, uint64_t seed) {
  if (!(val_fraction >= 0.0 && test_fraction >= 0.0 && val_fraction + test_fraction < 1.0)) {
    throw ConfigError(
        fmt::format("[random_split] val_fraction and test_fraction must be >= 0 and together below 1, got {} and {}.",
                    val_fraction, test_fraction));
  }
  const int64_t num_val = std::llround(static_cast<double>(size) * val_fraction);
  const int64_t num_test = std::llround(static_cast<double>(size) * test_fraction);
  const int64_t num_train = size - num_val - num_test;
  if (num_train < 1 || (val_fraction > 0.0 && num_val < 1) || (test_fraction > 0.0 && num_test < 1)) {
    throw DataError(fmt::format(
        "[random_split] every part needs a sample, but of {} samples {} are for training, {} for validation "
        "and {} for the test. Change val_fraction or test_fraction.",
        size, num_train, num_val, num_test));
  }
  constexpr uint64_t kSplit = 0x73706c6974;  // "split": another stream than that of the epochs' orders
  const std::vector<int64_t> order = random_order(size, mix_seed(seed, kSplit), 0);
  const auto val_begin = order.begin() + num_train;
  const auto test_begin = val_begin + num_val;
  RandomSplit split{{order.begin(), val_begin}, {val_begin, test_begin}, {test_begin, order.end()}};
  for (std::vector<int64_t>* part : {&split.train, &split.val, &split.test}) std::ranges::sort(*part);
  return split;
}

}  // namespace levin
