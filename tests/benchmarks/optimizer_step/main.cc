// One AdamW step of Levin or of LibTorch, with gradients that stay the same, on as many threads as OMP_NUM_THREADS
// says.
//
//   optimizer_step levin|libtorch small|convnet --steps N    prints {"mode": ..., "us_per_step": ...}
//
// small: 200 parameters of 64 numbers. convnet: the parameters of examples/fashion_mnist. The first tenth of the steps
// is warm-up.

#include <ATen/ops/randn.h>
#include <torch/optim/adamw.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "tests/benchmarks/benchmark_main.h"
#include "trainer/optim/adam.h"

namespace {

using Clock = std::chrono::steady_clock;
using Shapes = std::vector<std::vector<int64_t>>;

Shapes make_shapes(const std::string& problem) {
  if (problem == "small") return Shapes(200, {64});
  return {{32, 1, 3, 3}, {32}, {64, 32, 3, 3}, {64}, {128, 3136}, {128}, {10, 128}, {10}};
}

std::unique_ptr<torch::optim::Optimizer> make_optimizer(const std::string& side, std::vector<at::Tensor> parameters) {
  if (side == "levin") return std::make_unique<levin::AdamW>(std::move(parameters));
  return std::make_unique<torch::optim::AdamW>(std::move(parameters), 1e-3);
}

double us_per_step(const std::string& side, const std::string& problem, int64_t num_steps) {
  std::vector<at::Tensor> parameters;
  for (const std::vector<int64_t>& shape : make_shapes(problem)) {
    parameters.push_back(at::randn(shape).requires_grad_());
    parameters.back().mutable_grad() = at::randn(shape);
  }
  const auto optimizer = make_optimizer(side, parameters);
  const int64_t num_warmup = num_steps / 10;
  for (int64_t step = 0; step < num_warmup; ++step) optimizer->step();
  const Clock::time_point start = Clock::now();
  for (int64_t step = num_warmup; step < num_steps; ++step) optimizer->step();
  const std::chrono::duration<double, std::micro> elapsed = Clock::now() - start;
  return elapsed.count() / static_cast<double>(num_steps - num_warmup);
}

int run(int argc, char** argv) {
  const std::string side = argc > 1 ? argv[1] : "";
  const std::string problem = argc > 2 ? argv[2] : "";
  const int64_t num_steps = argc > 4 && std::string(argv[3]) == "--steps" ? std::atoll(argv[4]) : 1000;
  if ((side != "levin" && side != "libtorch") || (problem != "small" && problem != "convnet") || num_steps < 10) {
    std::fprintf(stderr, "usage: optimizer_step levin|libtorch small|convnet [--steps N]\n");
    return 2;
  }
  std::printf("{\"mode\": \"%s %s\", \"us_per_step\": %.3f}\n", side.c_str(), problem.c_str(),
              us_per_step(side, problem, num_steps));
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return benchmark_main(run, argc, argv); }
