#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/from_blob.h>

#include <array>
#include <cstdint>

#include "trainer/core/communicator.h"

namespace levin {

/// Makes `values` those of rank 0 on all ranks (collective).
template <size_t N>
void broadcast_from_rank_0(Communicator& communicator, std::array<double, N>& values) {
  if (communicator.world_size() == 1) return;
  at::Tensor packed = at::from_blob(values.data(), {static_cast<int64_t>(N)}, at::kDouble);
  communicator.broadcast(packed, 0);
}

/// True on all ranks if it is true on any of them (collective).
inline bool is_true_on_any_rank(Communicator& communicator, bool value) {
  if (communicator.world_size() == 1) return value;
  std::array<double, 1> flag = {value ? 1.0 : 0.0};
  at::Tensor packed = at::from_blob(flag.data(), {1}, at::kDouble);
  communicator.all_reduce(packed, ReduceOp::kMax);
  return flag[0] > 0.0;
}

}  // namespace levin
