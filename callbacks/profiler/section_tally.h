#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "trainer/core/profiler.h"

namespace levin {

/// What one section took: of its own, without the sections within it.
struct SectionTotal {
  int64_t ticks = 0;
  int64_t longest = 0;  ///< Of one call.
  int64_t count = 0;    ///< Calls that have ended.
};

/// Of each section, by its number; the last is what happened in none of them.
using SectionTotals = std::array<SectionTotal, kNumSections + 1>;
inline constexpr int kLoop = kNumSections;

/// Adds up the time between the borders of sections. Every tick from start() on counts for one section, the innermost
/// that is open, so that the totals add up to the whole. Times are arguments, in any unit. Allocates nothing.
class SectionTally {
 public:
  /// Forgets everything, and counts from now.
  void start(int64_t now);

  void begin(Section section, int64_t now) {
    add_time(now);
    if (++depth_ < kMaxDepth) frames_[depth_] = {static_cast<int>(section), 0};
  }
  /// Without a section that is open: nothing.
  void end(int64_t now) {
    add_time(now);
    if (depth_ == 0) return;
    if (depth_ < kMaxDepth) close_frame(frames_[depth_]);
    --depth_;
  }

  /// Up to now, with the time so far of sections that are open.
  SectionTotals totals(int64_t now) const;
  /// The same, and counts anew from now; open sections stay open.
  SectionTotals take(int64_t now);

 private:
  // Deeper sections, which Levin has none of, count for the last one.
  static constexpr int kMaxDepth = 32;
  struct Frame {
    int section = kLoop;
    int64_t ticks = 0;
  };

  int top() const { return std::min(depth_, kMaxDepth - 1); }
  void add_time(int64_t now) {
    frames_[top()].ticks += now - last_;
    last_ = now;
  }
  void close_frame(const Frame& frame) {
    SectionTotal& total = totals_[frame.section];
    total.ticks += frame.ticks;
    total.longest = std::max(total.longest, frame.ticks);
    ++total.count;
  }

  std::array<Frame, kMaxDepth> frames_ = {};  // the first is the loop
  int depth_ = 0;
  int64_t last_ = 0;
  SectionTotals totals_ = {};
};

/// Of all sections.
int64_t sum_of_ticks(const SectionTotals& totals);
/// The name of section number i, "loop" for the last.
std::string_view name_of(int i);

}  // namespace levin
