#include "trainer/core/step_context.h"

#include <fmt/format.h>

#include "trainer/core/error.h"

namespace levin {

void StepContext::refuse_log(std::string_view name) const {
  throw ConfigError(
      fmt::format("[{}] \"{}\" cannot be logged in this hook: no row is written after it. Log in a step, or in a hook "
                  "of a batch or an epoch.",
                  stage_name(stage_), name));
}

void StepContext::refuse_manual() const {
  throw ConfigError(
      fmt::format("[{}] manual optimization is for training_step, where automatic_optimization() returns false.",
                  stage_name(stage_)));
}

}  // namespace levin
