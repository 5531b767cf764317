#include "trainer/step_errors.h"

#include <fmt/format.h>

#include <string>

#include "trainer/core/error.h"

namespace levin {
namespace {

// LibTorch appends the C++ stack to its texts.
std::string first_paragraph(const c10::Error& error) {
  std::string text = error.what_without_backtrace();
  const size_t stack = text.find("\nException raised from");
  if (stack != std::string::npos) text.resize(stack);
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ' || text.back() == '.')) text.pop_back();
  return text;
}

}  // namespace

void rethrow_step_error(const c10::Error& error, std::string_view what, const TrainerState& state, const Batch& batch) {
  if (dynamic_cast<const c10::OutOfMemoryError*>(&error) != nullptr ||
      dynamic_cast<const c10::AcceleratorError*>(&error) != nullptr) {
    throw;
  }
  throw ModelError(fmt::format("[{}] epoch {}, batch {}, step {}: {}. The batch is {}.", what, state.epoch,
                               state.batch_idx, state.global_step, first_paragraph(error), batch.describe()));
}

}  // namespace levin
