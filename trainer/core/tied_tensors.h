#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <vector>

namespace levin {

/// Which tensors are the same memory seen in the same way (storage, offset, shape, strides, dtype), so that writing to
/// one changes the other. Element i is the smallest j <= i such that tensors i and j are tied; i itself for the first
/// one, for a tensor without elements and for an undefined one.
std::vector<size_t> find_ties(const std::vector<at::Tensor>& tensors);

}  // namespace levin
