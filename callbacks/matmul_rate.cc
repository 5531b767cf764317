#include "callbacks/matmul_rate.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/mm.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "trainer/core/error.h"

namespace levin {
namespace {

constexpr std::array<int64_t, 5> kSizes = {256, 512, 1024, 2048, 4096};
constexpr int kNumTrials = 3;
constexpr double kTrialSeconds = 2e-3;  // at least, so that the clock and the wait for the device do not count
constexpr double kMaxRepeats = 100.0;
constexpr double kBudgetSeconds = 0.35;

/// Products of two matrices [n, n].
class Product {
 public:
  // Of values that vary: with constant ones, a GPU draws less power and is faster than in any training.
  Product(int64_t n, at::Device device, at::ScalarType dtype)
      : flops_(2.0 * std::pow(static_cast<double>(n), 3.0)),
        a_(at::arange(n * n, at::TensorOptions().device(device).dtype(at::kFloat)).sin_().reshape({n, n}).to(dtype)),
        b_(a_.t().contiguous()),
        out_(at::empty_like(a_)) {}

  double flops() const { return flops_; }
  /// Seconds for one product, of `repeats` in a row.
  double seconds(int64_t repeats, const ClockFunction& now_s) {
    const double start = now_s();
    for (int64_t i = 0; i < repeats; ++i) at::mm_out(out_, a_, b_);
    synchronize();
    return (now_s() - start) / static_cast<double>(repeats);
  }

 private:
  void synchronize() const {
    if (a_.is_cpu()) return;
    c10::impl::VirtualGuardImpl(a_.device().type()).synchronizeDevice(a_.device().index());
  }

  double flops_;
  at::Tensor a_, b_, out_;
};

/// Seconds of the fastest product, as far as there is time for trials.
double fastest(Product& product, double end, const ClockFunction& now_s) {
  double best = product.seconds(1, now_s);
  for (int trial = 0; trial < kNumTrials && now_s() < end; ++trial) {
    const double repeats = best > 0.0 ? std::clamp(std::ceil(kTrialSeconds / best), 1.0, kMaxRepeats) : kMaxRepeats;
    const double seconds = product.seconds(static_cast<int64_t>(repeats), now_s);
    if (seconds > 0.0 && (best <= 0.0 || seconds < best)) best = seconds;
  }
  return best;
}

double measure(at::Device device, at::ScalarType dtype, const ClockFunction& now_s) {
  double rate = 0.0;
  double end = 0.0;
  for (const int64_t n : kSizes) {
    try {
      Product product(n, device, dtype);
      product.seconds(1, now_s);                                // the first one chooses kernels and takes memory
      if (n == kSizes.front()) end = now_s() + kBudgetSeconds;  // and starts the library
      const double seconds = fastest(product, end, now_s);
      if (seconds > 0.0) rate = std::max(rate, product.flops() / seconds);
      // Twice the size takes eight times as long, at least twice.
      if (now_s() + 2.0 * 8.0 * seconds > end) break;
    } catch (const c10::OutOfMemoryError&) {
      break;
    }
  }
  return rate;
}

}  // namespace

double measure_matmul_rate(at::Device device, at::ScalarType dtype, const ClockFunction& now_s) {
  const at::NoGradGuard no_grad;
  try {
    return measure(device, dtype, now_s);
  } catch (const c10::NotImplementedError& error) {
    throw ConfigError(
        fmt::format("[ThroughputMonitor] measure_peak needs products of matrices of {} on {}: {}. Set "
                    "peak_tflops instead.",
                    c10::toString(dtype), device.str(), error.what_without_backtrace()));
  }
}

}  // namespace levin
