#pragma once

#include <cstdint>

#include "trainer/core/state_dict.h"

namespace levin {

/// Seeds LibTorch's generators on all devices, which drive initial weights, dropout and the like. Call it before the
/// model is built (Trainer's constructor does so when TrainerOptions::seed is set).
void seed_everything(uint64_t seed);

/// A seed drawn from the operating system, in [0, 2^32).
uint64_t random_seed();

/// A 64-bit value that depends on all bits of `seed` and `stream` (SplitMix64; Steele, Lea, Flood 2014). Gives
/// independent streams, for example one for each epoch.
uint64_t mix_seed(uint64_t seed, uint64_t stream);

/// The state of LibTorch's generators of the CPU and of every accelerator in use: "cpu", "cuda.0" ... as uint8 tensors.
StateDict random_state();
/// Errors: CheckpointError if the CPU's state is missing. States of devices that are not here are left out.
void load_random_state(const StateDict& state);

/// Puts the generators back at the end of the scope, so that what happens in it leaves no trace.
class RandomStateScope {
 public:
  RandomStateScope() : state_(random_state()) {}
  ~RandomStateScope();
  RandomStateScope(const RandomStateScope&) = delete;
  RandomStateScope& operator=(const RandomStateScope&) = delete;

 private:
  StateDict state_;
};

}  // namespace levin
