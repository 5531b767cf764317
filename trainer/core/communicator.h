#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace levin {

enum class ReduceOp { kSum, kMean, kMin, kMax };

/// How the ranks of a run talk to each other. Every call except those for ranks and sizes is collective: all ranks make
/// it, in the same order. Errors: DistributedError if a rank is lost or a time-out is reached. Call from one thread.
class Communicator {
 public:
  virtual ~Communicator() = default;
  /// In [0, world_size()).
  virtual int64_t rank() const = 0;
  virtual int64_t world_size() const = 0;
  /// Ranks on this host, which share its processors. Default: all of them.
  virtual int64_t local_world_size() const { return world_size(); }
  /// Replaces `tensor` (contiguous, same shape and dtype on all ranks) by the reduction over the ranks.
  virtual void all_reduce(at::Tensor& tensor, ReduceOp op) = 0;
  /// Replaces `tensor` on all ranks by the one of rank `source`.
  virtual void broadcast(at::Tensor& tensor, int64_t source) = 0;
  /// Returns when all ranks have called it.
  virtual void barrier() = 0;
};

/// The world of one rank: every collective is the identity.
class SingleProcessCommunicator final : public Communicator {
 public:
  int64_t rank() const override { return 0; }
  int64_t world_size() const override { return 1; }
  void all_reduce(at::Tensor& /*tensor*/, ReduceOp /*op*/) override {}
  void broadcast(at::Tensor& /*tensor*/, int64_t /*source*/) override {}
  void barrier() override {}
};

}  // namespace levin
