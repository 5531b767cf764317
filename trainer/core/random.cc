#include "trainer/core/random.h"

#include <ATen/Context.h>
#include <fmt/format.h>

#include <mutex>
#include <random>

#include <string>

namespace levin {
namespace {

at::Tensor state_of(at::Generator generator) {
  const std::lock_guard<std::mutex> lock(generator.mutex());
  return generator.get_state();
}

void set_state(at::Generator generator, const at::Tensor& state) {
  const std::lock_guard<std::mutex> lock(generator.mutex());
  generator.set_state(state);
}

int64_t num_cuda_devices() { return at::hasCUDA() ? at::detail::getCUDAHooks().deviceCount() : 0; }

at::Generator cuda_generator(int64_t index) {
  return at::globalContext().defaultGenerator(at::Device(at::kCUDA, static_cast<c10::DeviceIndex>(index)));
}

std::string cuda_name(int64_t index) { return fmt::format("cuda.{}", index); }

}  // namespace

void seed_everything(uint64_t seed) { at::manual_seed(seed); }

uint64_t random_seed() {
  std::random_device device;
  return device();
}

uint64_t mix_seed(uint64_t seed, uint64_t stream) {
  uint64_t z = seed + 0x9e3779b97f4a7c15ULL * (stream + 1);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

StateDict random_state() {
  StateDict state;
  state.set("cpu", state_of(at::globalContext().defaultGenerator(at::kCPU)));
  for (int64_t i = 0; i < num_cuda_devices(); ++i) state.set(cuda_name(i), state_of(cuda_generator(i)));
  return state;
}

void load_random_state(const StateDict& state) {
  set_state(at::globalContext().defaultGenerator(at::kCPU), state.tensor("cpu"));
  for (int64_t i = 0; i < num_cuda_devices(); ++i) {
    if (state.contains(cuda_name(i))) set_state(cuda_generator(i), state.tensor(cuda_name(i)));
  }
}

RandomStateScope::~RandomStateScope() { load_random_state(state_); }

}  // namespace levin
