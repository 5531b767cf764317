#pragma once

#include <chrono>
#include <functional>

namespace levin {

/// Seconds on a clock that never goes back. Tests replace it.
using ClockFunction = std::function<double()>;

inline double steady_now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace levin
