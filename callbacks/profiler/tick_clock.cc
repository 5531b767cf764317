#include "callbacks/profiler/tick_clock.h"

#include <chrono>
#include <fstream>
#include <string>

namespace levin {
namespace {

#if defined(__x86_64__)
int64_t time_stamp_counter() { return static_cast<int64_t>(__builtin_ia32_rdtsc()); }

bool kernel_trusts_time_stamp_counter() {
  std::ifstream file("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  std::string name;
  return file >> name && name == "tsc";
}
#endif

}  // namespace

int64_t steady_nanoseconds() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

TickClock fastest_clock() {
#if defined(__x86_64__)
  if (kernel_trusts_time_stamp_counter()) return {time_stamp_counter, steady_nanoseconds};
#endif
  return {steady_nanoseconds, steady_nanoseconds};
}

}  // namespace levin
