#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace levin {

/// The parts of a run whose time is told apart. What happens in none of them is the loop's own.
enum class Section {
  kDataWait,       ///< Waiting for the loader.
  kTransfer,       ///< Copying the batch to the device.
  kForward,        ///< training_step.
  kBackward,       ///< Backward, with communication that it overlaps.
  kCommunication,  ///< Collectives outside of backward.
  kOptimizer,      ///< Unscale, clip, optimizer step, schedules, zero_grad.
  kCallbacks,      ///< Hooks of callbacks and of the module.
  kLogging,        ///< Rows for the loggers.
  kValidation,     ///< Validations within a fit, whole.
  kCheckpoint,     ///< Copying the state for a checkpoint; the writing is in the background.
};
inline constexpr int kNumSections = 10;

/// "data_wait", "transfer", "forward" …
std::string_view section_name(Section section);

/// Told by the loop what it does. begin and end nest; a section within another does not count for the outer one.
/// Called from one thread.
class Profiler {
 public:
  virtual ~Profiler() = default;

  /// Called at the start and the end of a fit; at the end also after an error. run_dir is empty if the run keeps no
  /// files. Errors: OutputError where a file cannot be written.
  virtual void start(const std::filesystem::path& run_dir) = 0;
  virtual void stop() = 0;
  virtual void begin(Section section) = 0;
  virtual void end(Section section) = 0;
  /// After each micro-batch, with everything that belongs to it.
  virtual void end_batch() {}
  /// What was found, as text for a person; "" if there is nothing to print. After stop().
  virtual std::string report() const { return ""; }
};

/// A section from here to the end of the scope, also on an exception. No profiler: nothing.
class ProfileScope {
 public:
  ProfileScope(Profiler* profiler, Section section) : profiler_(profiler), section_(section) {
    if (profiler_ != nullptr) profiler_->begin(section_);
  }
  ~ProfileScope() {
    if (profiler_ != nullptr) profiler_->end(section_);
  }
  ProfileScope(const ProfileScope&) = delete;
  ProfileScope& operator=(const ProfileScope&) = delete;

 private:
  Profiler* profiler_;
  Section section_;
};

}  // namespace levin
