#pragma once

#include <torch/optim/optimizer.h>

namespace levin {

/// For optimizers that Levin does not know: what their own save() and load() do, as uint8 [bytes].
inline constexpr const char* kArchive = "archive";
inline constexpr const char* kArchiveClass = "archive";

/// Errors: CheckpointError if the optimizer has no save().
at::Tensor write_archive(const torch::optim::Optimizer& optimizer);
/// Errors: CheckpointError if load() fails; the optimizer then has the state from before again.
void read_archive(torch::optim::Optimizer& optimizer, const at::Tensor& bytes);

}  // namespace levin
