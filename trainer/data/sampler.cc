#include "trainer/data/sampler.h"

#include <numeric>
#include <random>
#include <utility>

#include "trainer/core/random.h"

namespace levin {
namespace {

// Uniform in [0, bound) without bias. std::uniform_int_distribution differs between standard libraries.
uint64_t draw_below(std::mt19937_64& generator, uint64_t bound) {
  const uint64_t limit = UINT64_MAX - UINT64_MAX % bound;
  uint64_t value = generator();
  while (value >= limit) value = generator();
  return value % bound;
}

}  // namespace

std::vector<int64_t> sequential_order(int64_t size) {
  std::vector<int64_t> order(static_cast<size_t>(size));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

std::vector<int64_t> random_order(int64_t size, uint64_t seed, int64_t epoch) {
  std::vector<int64_t> order = sequential_order(size);
  std::mt19937_64 generator(mix_seed(seed, static_cast<uint64_t>(epoch)));
  for (size_t remaining = order.size(); remaining > 1; --remaining) {
    std::swap(order[remaining - 1], order[draw_below(generator, remaining)]);
  }
  return order;
}

}  // namespace levin
