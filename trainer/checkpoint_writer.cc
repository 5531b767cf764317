#include "trainer/checkpoint_writer.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_like.h>
#include <fmt/format.h>

#include <csignal>
#include <string>
#include <vector>

#include "trainer/core/error.h"
#include "trainer/core/files/link.h"
#include "trainer/core/tied_tensors.h"

namespace levin {
namespace {

bool fits(const at::Tensor& copy, const at::Tensor& source) {
  return copy.defined() && copy.sizes() == source.sizes() && copy.scalar_type() == source.scalar_type();
}

/// Signals are for the thread that runs the loop.
void block_signals() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

}  // namespace

CheckpointWriter::~CheckpointWriter() {
  if (thread_.joinable()) thread_.join();
}

void CheckpointWriter::copy_tensors(StateDict& state, const char* part) {
  const at::NoGradGuard no_grad;
  std::vector<std::string> names;
  std::vector<at::Tensor> tensors;
  for (const auto& [name, value] : state) {
    if (!std::holds_alternative<at::Tensor>(value)) continue;
    names.push_back(name);
    tensors.push_back(std::get<at::Tensor>(value));
  }
  const std::vector<size_t> ties = find_ties(tensors);
  std::vector<at::Tensor> copied(tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (ties[i] != i) {
      copied[i] = copied[ties[i]];
    } else if (tensors[i].defined()) {
      at::Tensor& copy = copies_[std::string(part) + names[i]];
      if (!fits(copy, tensors[i])) {
        copy = at::empty_like(tensors[i], tensors[i].options().device(at::kCPU), at::MemoryFormat::Contiguous);
      }
      copy.copy_(tensors[i]);
      copied[i] = copy;
    }
    state.replace(names[i], copied[i]);
  }
}

void CheckpointWriter::submit(const std::filesystem::path& path, Checkpoint checkpoint, const SaveOptions& options) {
  wait();
  copy_tensors(checkpoint.model, "model.");
  copy_tensors(checkpoint.optimizer, "optimizer.");
  copy_tensors(checkpoint.run, "run.");
  path_ = path;
  checkpoint_ = std::move(checkpoint);
  options_ = options;
  error_ = nullptr;
  is_complete_ = false;
  thread_ = std::thread([this] { write(); });
}

void CheckpointWriter::write() noexcept {
  block_signals();
  try {
    save_checkpoint(path_, checkpoint_);
    is_complete_ = true;
    for (const LinkTarget& link : options_.links) {
      if (std::filesystem::exists(link.link.parent_path() / link.target)) replace_link(link.link, link.target);
    }
    for (const std::filesystem::path& older : options_.replaces) std::filesystem::remove_all(older);
  } catch (...) {
    error_ = std::current_exception();
  }
  is_over_.store(true, std::memory_order_release);
}

void CheckpointWriter::wait() {
  if (thread_.joinable()) finish();
}

void CheckpointWriter::finish() {
  thread_.join();
  is_over_.store(false, std::memory_order_relaxed);
  checkpoint_ = {};
  const std::exception_ptr error = std::exchange(error_, nullptr);
  if (is_complete_) last_complete_ = path_;
  if (!error) return;
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& failure) {
    if (!options_.continue_on_error) throw CheckpointError(failure.what());
    TORCH_WARN("The checkpoint ", path_.string(),
               is_complete_ ? " was saved, but links or older checkpoints are not as they should be: "
                            : " was not saved, and the run goes on without it: ",
               failure.what());
  }
}

}  // namespace levin
