#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include "trainer/core/communicator.h"

namespace levin {

/// Makes `values` those of rank 0 on all ranks (collective).
template <size_t N>
void broadcast_from_rank_0(Communicator& communicator, std::array<double, N>& values) {
  if (communicator.world_size() == 1) return;
  at::Tensor packed = at::from_blob(values.data(), {static_cast<int64_t>(N)}, at::kDouble);
  communicator.broadcast(packed, 0);
}

/// The longest text that broadcast_text_from_rank_0() carries, in bytes: that of a file name.
inline constexpr size_t kLongestSharedText = 255;

/// The text of rank 0 on all ranks, cut to kLongestSharedText (collective).
inline std::string broadcast_text_from_rank_0(Communicator& communicator, const std::string& text) {
  std::array<double, kLongestSharedText + 1> packed = {};
  const size_t length = std::min(text.size(), kLongestSharedText);
  packed[0] = static_cast<double>(length);
  for (size_t i = 0; i < length; ++i) packed[i + 1] = static_cast<unsigned char>(text[i]);
  broadcast_from_rank_0(communicator, packed);
  std::string shared(static_cast<size_t>(packed[0]), '\0');
  for (size_t i = 0; i < shared.size(); ++i) shared[i] = static_cast<char>(static_cast<unsigned char>(packed[i + 1]));
  return shared;
}

/// Makes each of `values` the largest over the ranks (collective). None is NaN, which may get lost.
template <size_t N>
void max_over_ranks(Communicator& communicator, std::array<double, N>& values) {
  if (communicator.world_size() == 1) return;
  at::Tensor packed = at::from_blob(values.data(), {static_cast<int64_t>(N)}, at::kDouble);
  communicator.all_reduce(packed, ReduceOp::kMax);
}

/// True on all ranks if it is true on any of them (collective).
inline bool is_true_on_any_rank(Communicator& communicator, bool value) {
  std::array<double, 1> flag = {value ? 1.0 : 0.0};
  max_over_ranks(communicator, flag);
  return flag[0] > 0.0;
}

}  // namespace levin
