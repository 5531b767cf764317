#pragma once

#include <atomic>
#include <exception>
#include <filesystem>
#include <optional>
#include <thread>
#include <unordered_map>

#include "callbacks/run_context.h"
#include "trainer/checkpoint/checkpoint.h"

namespace levin {

/// Writes checkpoints in the background: submit() copies the state and returns; a thread writes the files. One save is
/// in flight at most. Then it moves the links and removes the older folders that SaveOptions name, in this order, so
/// that a link never names a folder that is gone, whenever the process is killed. Call all methods from one thread.
class CheckpointWriter {
 public:
  CheckpointWriter() = default;
  /// Waits for the save in flight; its error is lost (call wait() to have it).
  ~CheckpointWriter();
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  /// Waits for an older save, copies all tensors of `checkpoint`, and starts to write.
  /// Errors: CheckpointError of the older save.
  void submit(const std::filesystem::path& path, Checkpoint checkpoint, const SaveOptions& options);
  /// Reports the save in flight if it is over. Errors: its CheckpointError, unless options.continue_on_error.
  void poll() {
    if (is_over_.load(std::memory_order_acquire)) finish();
  }
  /// The same, after waiting for it.
  void wait();
  /// `path` is a complete checkpoint, and no save is newer yet.
  void start_from(const std::filesystem::path& path) { last_complete_ = path; }
  /// The newest checkpoint that is complete.
  const std::optional<std::filesystem::path>& last_complete() const { return last_complete_; }

 private:
  void write() noexcept;
  void finish();
  void copy_tensors(StateDict& state, const char* part);

  std::thread thread_;
  std::atomic<bool> is_over_ = false;  // the thread is done, and has not been asked for its result
  std::filesystem::path path_;
  Checkpoint checkpoint_;
  SaveOptions options_;
  std::exception_ptr error_;
  bool is_complete_ = false;  // whatever error_ says of what came after it
  std::optional<std::filesystem::path> last_complete_;
  // Copies of the last save, by part and name, are written over by the next one: their pages are there already.
  std::unordered_map<std::string, at::Tensor> copies_;
};

}  // namespace levin
