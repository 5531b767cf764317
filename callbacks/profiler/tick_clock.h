#pragma once

#include <cstdint>

namespace levin {

/// A clock that is cheap to read, and one that tells how long its ticks are.
struct TickClock {
  int64_t (*ticks)();        ///< Grows evenly; the unit is unknown.
  int64_t (*nanoseconds)();  ///< Monotonic.
};

/// std::chrono::steady_clock, in nanoseconds.
int64_t steady_nanoseconds();

/// The processor's time stamp counter where the kernel keeps its own time by it, so that it is even and the same on all
/// cores; otherwise steady_clock for both.
TickClock fastest_clock();

}  // namespace levin
