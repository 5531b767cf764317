#pragma once

#include <optional>
#include <string>

#include "trainer/core/optimizers.h"

namespace levin {

/// The class of an optimizer without its namespaces: "AdamW" for levin::AdamW and for torch::optim::AdamW.
std::string class_name_of(const Optimizer& optimizer);

/// The learning rate of a parameter group; nullopt if options of a user's own have none.
std::optional<double> learning_rate_of(const torch::optim::OptimizerOptions& options);

/// The momentum of a parameter group, or beta1 of Adam and its kin. nullopt: the options have neither, or are of a
/// class that is neither Levin's nor LibTorch's.
std::optional<double> momentum_of(torch::optim::OptimizerOptions& options);

/// The weight decay of a parameter group; nullopt as in momentum_of().
std::optional<double> weight_decay_of(torch::optim::OptimizerOptions& options);

}  // namespace levin
