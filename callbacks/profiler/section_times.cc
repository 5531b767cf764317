#include "callbacks/profiler/section_times.h"

namespace levin {

void SectionTimes::start(const std::filesystem::path& /*run_dir*/) {
  start_ = stop_ = now();
  tally_.start(start_.ticks);
  is_running_ = true;
}

void SectionTimes::stop() {
  if (!is_running_) return;
  stop_ = now();
  is_running_ = false;
}

// The length of a tick is measured over the fit itself, which needs no pause before it and is the most exact.
std::vector<SectionTime> SectionTimes::times() const {
  const Moment end = last_moment();
  const SectionTotals totals = tally_.totals(end.ticks);
  const auto ticks = static_cast<double>(end.ticks - start_.ticks);
  const double seconds = static_cast<double>(end.nanoseconds - start_.nanoseconds) * 1e-9;
  std::vector<SectionTime> result;
  for (int i = 0; i <= kLoop; ++i) {
    const double share = ticks > 0 ? static_cast<double>(totals[i].ticks) / ticks : 0.0;
    result.push_back({std::string(name_of(i)), share * seconds, totals[i].count, share});
  }
  return result;
}

double SectionTimes::wall_seconds() const {
  return static_cast<double>(last_moment().nanoseconds - start_.nanoseconds) * 1e-9;
}

}  // namespace levin
