#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "callbacks/profiler/section_tally.h"
#include "callbacks/profiler/tick_clock.h"
#include "trainer/core/profiler.h"

namespace levin {

struct SectionTime {
  std::string name;    ///< As of section_name(); "loop" for what happened in no section.
  double seconds = 0;  ///< Without the sections within it.
  int64_t count = 0;   ///< Times the section ended; 0 for the loop.
  double share = 0;    ///< Of the wall time, 0 to 1.
};

/// Where the time of a fit went, so cheaply that every fit can have it: begin and end take 20 to 60 ns together and
/// allocate nothing. Devices are not waited for, so on a GPU the time of a section is the time of the host in it.
class SectionTimes final : public Profiler {
 public:
  explicit SectionTimes(TickClock clock = fastest_clock()) : clock_(clock) {}

  void start(const std::filesystem::path& run_dir = {}) override;
  void stop() override;
  void begin(Section section) override { tally_.begin(section, clock_.ticks()); }
  void end(Section /*section*/) override { tally_.end(clock_.ticks()); }

  /// Every section in the order of the enum, then the loop; the seconds add up to wall_seconds(). While the fit runs:
  /// so far. All zero before start().
  std::vector<SectionTime> times() const;
  /// From start() to stop(), or so far.
  double wall_seconds() const;

 private:
  struct Moment {
    int64_t ticks = 0;
    int64_t nanoseconds = 0;
  };
  Moment now() const { return {clock_.ticks(), clock_.nanoseconds()}; }
  Moment last_moment() const { return is_running_ ? now() : stop_; }

  TickClock clock_;
  SectionTally tally_;
  bool is_running_ = false;
  Moment start_ = {};
  Moment stop_ = {};
};

}  // namespace levin
