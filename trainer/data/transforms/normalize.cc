#include "trainer/data/transforms/normalize.h"

#include <ATen/ops/sub.h>
#include <ATen/ops/tensor.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "trainer/core/batch.h"
#include "trainer/core/error.h"

namespace levin {
namespace {

constexpr size_t kNumBytes = 256;

// In float32 and in the order in which LibTorch would compute images.to(kFloat).div(255).sub(mean).div(std), so that
// both agree to the bit.
std::vector<float> make_table(float mean, float std) {
  std::vector<float> table(kNumBytes);
  for (size_t value = 0; value < kNumBytes; ++value) table[value] = (static_cast<float>(value) / 255.0f - mean) / std;
  return table;
}

[[noreturn]] void throw_bad_type(const char* where, const at::Tensor& images) {
  throw DataError(fmt::format("[{}] images must be uint8 or floating-point, got {}.", where, describe_tensor(images)));
}

}  // namespace

bool ToFloat::join(PixelPass& pass, const TransformRandom& /*random*/) const {
  if (pass.is_floating_point()) return true;
  if (!pass.can_look_up()) throw_bad_type("ToFloat", pass.images());
  static const std::vector<float> table = make_table(0.0f, 1.0f);
  pass.look_up(table);
  return true;
}

Normalize::Normalize(std::vector<double> mean, std::vector<double> std) : mean_(std::move(mean)), std_(std::move(std)) {
  const bool is_good = !mean_.empty() && mean_.size() == std_.size() &&
                       std::all_of(mean_.begin(), mean_.end(), [](double value) { return std::isfinite(value); }) &&
                       std::all_of(std_.begin(), std_.end(), [](double value) {
                         return std::isfinite(value) && static_cast<float>(value) > 0.0f;
                       });
  if (!is_good) {
    throw ConfigError(
        fmt::format("[Normalize] mean and std must have one value for each channel, or one for all, with std > 0, got "
                    "mean [{}], std [{}].",
                    fmt::join(mean_, ", "), fmt::join(std_, ", ")));
  }
  for (size_t i = 0; i < mean_.size(); ++i) {
    const std::vector<float> table = make_table(static_cast<float>(mean_[i]), static_cast<float>(std_[i]));
    tables_.insert(tables_.end(), table.begin(), table.end());
  }
}

at::Tensor Normalize::parameter(const std::vector<double>& values, const at::Tensor& images) const {
  return at::tensor(values, images.options()).view({-1, 1, 1});
}

void Normalize::check_channels(const at::Tensor& images) const {
  if (mean_.size() != 1 && images.size(1) != static_cast<int64_t>(mean_.size())) {
    throw DataError(fmt::format("[Normalize] images must have {} channels, as mean and std have, got {}.", mean_.size(),
                                describe_tensor(images)));
  }
}

bool Normalize::join(PixelPass& pass, const TransformRandom& /*random*/) const {
  check_channels(pass.images());
  if (!pass.can_look_up()) return false;
  pass.look_up(tables_);
  return true;
}

at::Tensor Normalize::apply(const at::Tensor& images, const TransformRandom& random) const {
  PixelPass pass(images);
  if (join(pass, random)) return pass.run();
  if (!images.is_floating_point()) throw_bad_type("Normalize", images);
  return images.sub(parameter(mean_, images)).div_(parameter(std_, images));
}

}  // namespace levin
