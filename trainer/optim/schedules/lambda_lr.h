#pragma once

#include <functional>
#include <utility>

#include "trainer/core/schedule.h"

namespace levin {

/// base_lr * factor(step), for C++: LambdaLR([](int64_t step) { return std::pow(0.95, step); }). The function must be
/// pure.
class LambdaLR final : public Schedule {
 public:
  explicit LambdaLR(std::function<double(int64_t step)> factor) : factor_(std::move(factor)) {}
  double learning_rate(double base_lr, int64_t step) const override { return base_lr * factor_(step); }

 private:
  std::function<double(int64_t)> factor_;
};

}  // namespace levin
