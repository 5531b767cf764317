#include "callbacks/profiler/section_tally.h"

namespace levin {

void SectionTally::start(int64_t now) {
  *this = SectionTally();
  last_ = now;
}

SectionTotals SectionTally::totals(int64_t now) const {
  SectionTotals result = totals_;
  for (int i = 0; i <= top(); ++i) result[frames_[i].section].ticks += frames_[i].ticks;
  result[frames_[top()].section].ticks += now - last_;
  return result;
}

SectionTotals SectionTally::take(int64_t now) {
  const SectionTotals result = totals(now);
  totals_ = {};
  for (Frame& frame : frames_) frame.ticks = 0;
  last_ = now;
  return result;
}

int64_t sum_of_ticks(const SectionTotals& totals) {
  int64_t sum = 0;
  for (const SectionTotal& total : totals) sum += total.ticks;
  return sum;
}

std::string_view name_of(int i) { return i == kLoop ? "loop" : section_name(static_cast<Section>(i)); }

}  // namespace levin
