#include "trainer/optim/schedules/run_length.h"

#include <fmt/format.h>

#include <algorithm>

#include "trainer/core/error.h"

namespace levin {

void RunLength::set_total_steps(std::optional<int64_t> total_steps) {
  if (configured_) return;
  of_run_ = total_steps;
  static_cast<void>(value());
}

int64_t RunLength::value() const {
  if (configured_) return *configured_;
  if (of_run_) return std::max<int64_t>(*of_run_, 1);
  throw ConfigError(
      fmt::format("[{}] {} must be given where the length of the run is not known. Set it, or limit the run with "
                  "max_epochs or max_steps.",
                  owner_, key_));
}

}  // namespace levin
