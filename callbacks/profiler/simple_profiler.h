#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "callbacks/profiler/section_tally.h"
#include "trainer/core/option_visitor.h"
#include "trainer/core/profiler.h"

namespace levin {

/// `profiler: simple`. A table of where the time of a fit went, as report() and in <run_dir>/profile.txt: seconds of
/// each section without those within it, share, microseconds a batch, calls, and the longest call. The time up to the
/// end of the first batch, in which memory is taken and kernels are chosen, is apart from the rest.
///
/// On CUDA it waits for the device at each border of a section, so that a kernel counts for the section that started
/// it. This keeps the host from running ahead, so the fit is slower than without a profiler.
class SimpleProfiler final : public Profiler {
 public:
  struct Options {
    /// Waits for the CUDA device at each border. Without it, the times are those of the host.
    bool synchronize = true;

    void visit(OptionVisitor& visitor) {
      visitor.field("synchronize", synchronize, "wait for the CUDA device at each border of a section");
    }
  };
  /// What it learns from outside; tests put their own in its place.
  struct Hooks {
    std::function<int64_t()> nanoseconds;
    std::function<bool()> synchronize;  ///< Returns whether there is a device.
  };

  SimpleProfiler();
  explicit SimpleProfiler(const Options& options);
  SimpleProfiler(const Options& options, Hooks hooks);

  void start(const std::filesystem::path& run_dir) override;
  void stop() override;
  void begin(Section section) override { tally_.begin(section, synchronized_now()); }
  void end(Section /*section*/) override { tally_.end(synchronized_now()); }
  void end_batch() override;
  std::string report() const override { return report_; }

 private:
  int64_t synchronized_now() {
    if (options_.synchronize && hooks_.synchronize()) has_synchronized_ = true;
    return hooks_.nanoseconds();
  }

  Options options_;
  Hooks hooks_;
  std::filesystem::path run_dir_;
  SectionTally tally_;
  bool is_running_ = false;
  bool has_synchronized_ = false;
  int64_t num_batches_ = 0;
  SectionTotals first_ = {};  // up to the end of the first batch
  std::string report_;
};

}  // namespace levin
