#pragma once

#include <cstdint>

namespace levin {

/// Seeds LibTorch's generators on all devices, which drive initial weights, dropout and the like. Call it before the
/// model is built (Trainer's constructor does so when TrainerOptions::seed is set).
void seed_everything(uint64_t seed);

/// A seed drawn from the operating system, in [0, 2^32).
uint64_t random_seed();

/// A 64-bit value that depends on all bits of `seed` and `stream` (SplitMix64; Steele, Lea, Flood 2014). Gives
/// independent streams, for example one for each epoch.
uint64_t mix_seed(uint64_t seed, uint64_t stream);

}  // namespace levin
