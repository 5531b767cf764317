#pragma once

#include <vector>

#include "trainer/core/optimizers.h"
#include "trainer/core/state_dict.h"

namespace levin {

/// What an optimizer keeps, by the names of the module's parameters (all of them, see named_parameters()):
///
///   "class"                                   "AdamW", "torch::optim::AdamW"
///   "<parameter>.exp_avg", "<parameter>.step"  for each parameter that has been stepped
///   "group.0.lr", "group.0.weight_decay"      the options of each parameter group
///   "group.0.parameters"                      the names of its parameters, comma-separated
///   "group.0.initial_lr"                      base_learning_rates[0], where they are given (see Optimizers)
///
/// Tensors share the optimizer's memory: save them, or clone them, before the next step. An optimizer that is neither
/// Levin's nor LibTorch's is one entry "archive", what its save() writes as uint8 [bytes].
/// Errors: CheckpointError if the optimizer has a parameter that is not among the named ones, or cannot be saved.
StateDict optimizer_state(const Optimizer& optimizer, const NamedParameters& named_parameters,
                          const std::vector<double>& base_learning_rates = {});

/// Makes the optimizer go on as the saved one would have: state and options are replaced, bit by bit. The tensors of
/// `state` are copied, to the devices of the parameters.
///
/// base_learning_rates: receives "initial_lr", if not nullptr and saved.
/// Errors: CheckpointError that lists every entry that is missing, unexpected or of another shape, or says that the
/// state is of another class; the optimizer is then as it was.
void load_optimizer_state(Optimizer& optimizer, const NamedParameters& named_parameters, const StateDict& state,
                          std::vector<double>* base_learning_rates = nullptr);

}  // namespace levin
