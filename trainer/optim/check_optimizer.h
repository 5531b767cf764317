#pragma once

#include <string>
#include <utility>
#include <vector>

#include "callbacks/check_options.h"
#include "trainer/core/option_visitor.h"

namespace levin {

/// Checks each field of an optimizer's options against its rule, and problems() for what is wrong with them together.
/// Errors: ConfigError "[name] problem; problem.".
template <class Options>
void check_optimizer(const char* name, Options options) {
  OptionChecker checker;
  options.visit(checker);
  std::vector<std::string> problems = checker.problems();
  for (std::string& problem : options.problems()) problems.push_back(std::move(problem));
  throw_if_any(name, problems);
}

/// What is wrong with the decay rates of two moments.
std::vector<std::string> betas_problems(const std::vector<double>& betas);

}  // namespace levin
