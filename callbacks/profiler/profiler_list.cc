#include "callbacks/profiler/profiler_list.h"

#include <exception>

namespace levin {

void ProfilerList::stop() {
  std::exception_ptr first_error;
  for (const auto& profiler : profilers_) {
    try {
      profiler->stop();
    } catch (...) {
      if (!first_error) first_error = std::current_exception();
    }
  }
  if (first_error) std::rethrow_exception(first_error);
}

std::string ProfilerList::report() const {
  std::string text;
  for (const auto& profiler : profilers_) {
    const std::string part = profiler->report();
    if (!part.empty()) text += (text.empty() ? "" : "\n") + part;
  }
  return text;
}

}  // namespace levin
