#include "trainer/optim/check_optimizer.h"

#include <fmt/format.h>

namespace levin {

std::vector<std::string> betas_problems(const std::vector<double>& betas) {
  if (betas.size() != 2) return {fmt::format("betas must be two numbers, got {}", betas.size())};
  std::vector<std::string> problems;
  for (const double beta : betas) {
    if (!(beta >= 0.0 && beta < 1.0)) problems.push_back(fmt::format("betas must be in [0, 1), got {}", beta));
  }
  return problems;
}

}  // namespace levin
