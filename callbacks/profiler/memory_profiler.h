#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "trainer/core/profiler.h"

namespace levin {

/// `profiler: memory`. The peak of the memory that tensors held in each section of a fit, as report() and in
/// <run_dir>/memory.txt: by device, for the innermost section that was open when the memory was taken. On the CPU it
/// counts what tensors have taken since the start of the fit on the training's thread and autograd's, beyond what was
/// there then (parameters, data); on an accelerator all memory of LibTorch's allocator, which holds more in reserve.
///
/// Slows each allocation down by less than a microsecond. Not together with TraceProfiler, whose place in LibTorch it
/// takes. Errors of stop(): OutputError if the file cannot be written.
class MemoryProfiler final : public Profiler {
 public:
  MemoryProfiler();
  ~MemoryProfiler() override;

  void start(const std::filesystem::path& run_dir) override;
  void stop() override;
  void begin(Section section) override;
  void end(Section section) override;
  void end_batch() override;
  std::string report() const override { return report_; }

 private:
  class Recorder;  // what LibTorch's allocators report to
  class Guard;     // while they do

  std::filesystem::path run_dir_;
  std::shared_ptr<Recorder> recorder_;
  std::unique_ptr<Guard> guard_;
  std::string report_;
};

}  // namespace levin
