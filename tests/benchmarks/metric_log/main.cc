// What one MetricStore::log costs: three names a step, each for the step and the epoch.
//
//   metric_log number|tensor [STEPS]    prints {"mode": ..., "ns_per_log": ...}
//
// The first tenth of the steps is warm-up.

#include <ATen/ops/full.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/benchmarks/benchmark_main.h"
#include "trainer/core/metric_store.h"

namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kNumNames = 3;
constexpr double kBatchSize = 32.0;

template <class Value>
double ns_per_log(const Value& value, int64_t num_steps) {
  const levin::LogOptions options{.on_step = true, .on_epoch = true};
  levin::MetricStore store(levin::Stage::kTrain);
  const int64_t num_warmup = num_steps / 10;
  Clock::time_point start;
  for (int64_t step = 0; step < num_steps; ++step) {
    if (step == num_warmup) start = Clock::now();
    store.log("train_loss", value, options, kBatchSize);
    store.log("train_accuracy", value, options, kBatchSize);
    store.log("learning_rate", value, options, kBatchSize);
    store.end_step();
  }
  const std::chrono::duration<double, std::nano> elapsed = Clock::now() - start;
  return elapsed.count() / static_cast<double>((num_steps - num_warmup) * kNumNames);
}

int run(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  const int64_t num_steps = argc > 2 ? std::atoll(argv[2]) : 5'000'000;
  if (mode != "number" && mode != "tensor") {
    std::fprintf(stderr, "usage: metric_log number|tensor [STEPS]\n");
    return 2;
  }
  const double result =
      mode == "number" ? ns_per_log(0.25, num_steps) : ns_per_log(at::full({}, 0.25, at::kFloat), num_steps);
  std::printf("{\"mode\": \"%s\", \"ns_per_log\": %.2f}\n", mode.c_str(), result);
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return benchmark_main(run, argc, argv); }
