#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string_view>

#include "trainer/core/communicator.h"
#include "trainer/core/state_dict.h"

namespace levin {

// What the classification metrics share. `metric` is the class's name, for error texts.

/// LibTorch's default for cross_entropy: targets that do not count, such as padding.
constexpr int64_t kIgnoreIndex = -100;

/// Predicted and true classes of a batch, one-dimensional int64, on the predictions' device.
struct ClassPairs {
  at::Tensor predicted;
  at::Tensor targets;
};

/// True if predictions are scores with a dimension for the classes: [N, C, ...] for targets [N, ...].
bool has_class_dim(const at::Tensor& predictions, const at::Tensor& targets);

/// Reads the forms that the classification metrics take, for targets [N, ...] of integer type or bool:
///   scores [N, C, ...] of floating type: the class of the highest score; of equal ones, the lowest class
///   scores [N, ...] of floating type: class 1 where the score is above `threshold`, else class 0
///   classes [N, ...] of integer type or bool
/// No device synchronisation. Errors: ModelError if shapes or types are others, or the classes of scores are not
/// `num_classes` (where set).
ClassPairs to_class_pairs(std::string_view metric, const at::Tensor& predictions, const at::Tensor& targets,
                          double threshold, std::optional<int64_t> num_classes);

/// Where classes are in [0, num_classes): bool, as `classes`.
at::Tensor is_class(const at::Tensor& classes, int64_t num_classes);

/// Errors: ModelError if targets are not of integer type or bool.
void check_class_targets(std::string_view metric, const at::Tensor& predictions, const at::Tensor& targets);

/// Throws the ModelError for predictions and targets that do not fit; `rule` says what would.
[[noreturn]] void throw_misfit(std::string_view metric, const at::Tensor& predictions, const at::Tensor& targets,
                               std::string_view rule);

/// Errors: ModelError if `num_invalid` targets were no class. Found in compute(), since update() does not synchronise.
void check_num_invalid(std::string_view metric, int64_t num_invalid);

/// Adds `increment` to the running `sum`, which is made on the device of the first increment. Outside of any graph.
void accumulate(at::Tensor& sum, const at::Tensor& increment);
/// Adds `weights` (int64 [N]) to the bins of `counts` (int64 [num_bins]) that `bins` (int64 [N]) names.
void accumulate_bins(at::Tensor& counts, const at::Tensor& bins, const at::Tensor& weights, int64_t num_bins);
/// The sum over all ranks, on the CPU (collective). `sum` may be undefined: nothing was seen.
at::Tensor sum_over_ranks(const at::Tensor& sum, at::IntArrayRef sizes, at::ScalarType dtype,
                          Communicator& communicator);
/// `sum`, or zeros where it is undefined, for state().
at::Tensor copy_sum(const at::Tensor& sum, at::IntArrayRef sizes, at::ScalarType dtype);
/// The entry `name` of a saved state. Errors: CheckpointError if it does not have these sizes and this type.
at::Tensor saved_sum(std::string_view metric, const StateDict& state, std::string_view name, at::IntArrayRef sizes,
                     at::ScalarType dtype);

}  // namespace levin
