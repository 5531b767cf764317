#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "trainer/core/profiler.h"

namespace levin {

/// Several profilers as one, told in their order. One that takes time in begin or end (SimpleProfiler waits for the
/// device) comes before those that only read a clock.
class ProfilerList final : public Profiler {
 public:
  explicit ProfilerList(std::vector<std::shared_ptr<Profiler>> profilers) : profilers_(std::move(profilers)) {}

  void start(const std::filesystem::path& run_dir) override {
    for (const auto& profiler : profilers_) profiler->start(run_dir);
  }
  /// Stops all of them. Errors: the first one's.
  void stop() override;
  void begin(Section section) override {
    for (const auto& profiler : profilers_) profiler->begin(section);
  }
  void end(Section section) override {
    for (const auto& profiler : profilers_) profiler->end(section);
  }
  void end_batch() override {
    for (const auto& profiler : profilers_) profiler->end_batch();
  }
  /// Those that are not empty, with an empty line between them.
  std::string report() const override;

 private:
  std::vector<std::shared_ptr<Profiler>> profilers_;
};

}  // namespace levin
