#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "trainer/core/option_visitor.h"
#include "trainer/core/profiler.h"

namespace levin {

/// `profiler: trace`. Records LibTorch's operators, on CUDA also kernels and copies, with Levin's sections around them,
/// and writes <run_dir>/trace.json for https://ui.perfetto.dev or chrome://tracing. Batches appear as "ProfilerStep#n",
/// which tools for traces know, sections by section_name().
///
/// Operators of the training's thread and of autograd's threads are recorded, those of the loader's threads are not.
/// The file is written as soon as the last batch is recorded; a fit that ends before leaves what it has got to.
/// Recording costs some microseconds an operator, and a trace some 100 KiB to a few MiB a batch.
/// A run that keeps no files is not traced, nor is a fit shorter than skip_batches: report() says so.
///
/// Errors: ConfigError for options out of range, or if the program records with LibTorch's profiler already;
/// OutputError from end_batch() or stop() if the file cannot be written.
class TraceProfiler final : public Profiler {
 public:
  struct Options {
    int64_t skip_batches = 5;     ///< Batches before the recording; the last of them warms the recorder up.
    int64_t active_batches = 10;  ///< Batches that are recorded.
    bool record_shapes = false;   ///< Shapes of the operators' inputs. Keeps the inputs of an operator alive longer.
    bool with_memory = false;     ///< Allocations, as a curve of the memory in use.
    /// Floating-point operations a batch, in report(); the file has no place for them. Counted are products and
    /// convolutions, and additions and multiplications by element, by LibTorch's formulas.
    bool with_flops = false;

    void visit(OptionVisitor& visitor);
  };

  TraceProfiler();
  explicit TraceProfiler(const Options& options);
  /// Ends a recording that stop() was not called for; it is lost.
  ~TraceProfiler() override;

  void start(const std::filesystem::path& run_dir) override;
  void stop() override;
  void begin(Section section) override;
  void end(Section section) override;
  void end_batch() override;
  std::string report() const override;

 private:
  class Recorder;

  void advance();
  void write_trace();

  Options options_;
  std::filesystem::path path_;          // of the trace; empty if the run keeps no files
  std::unique_ptr<Recorder> recorder_;  // while it may still record
  int64_t num_batches_ = 0;             // that have ended
  int64_t num_traced_ = 0;              // that are in the file
  bool has_trace_ = false;
  double flops_ = 0;  // of the traced batches
};

}  // namespace levin
