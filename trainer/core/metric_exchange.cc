#include "trainer/core/metric_exchange.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "trainer/core/error.h"
#include "trainer/core/metric.h"

namespace levin {
namespace {

constexpr int64_t kWordBytes = sizeof(int64_t);
constexpr int64_t kMaxDims = 8;

// What the rank that has the metric does next, told to those that have not: {call, op, dtype, dims, sizes...}, or
// {kDone, bits of the result}.
enum Call : int64_t { kAllReduce, kBroadcast, kBarrier, kDone, kFailed };
using Notice = std::array<int64_t, 4 + kMaxDims>;

Notice broadcast_notice(Communicator& communicator, Notice notice, int64_t source) {
  at::Tensor tensor = at::tensor(notice, at::kLong);
  communicator.broadcast(tensor, source);
  std::copy_n(tensor.const_data_ptr<int64_t>(), notice.size(), notice.begin());
  return notice;
}

Notice describe_call(Call call, const at::Tensor& tensor, int64_t argument) {
  if (tensor.dim() > kMaxDims || !tensor.is_cpu()) {
    throw InternalError(fmt::format("[MetricStore] a metric must reduce CPU tensors of at most {} dimensions, got {}.",
                                    kMaxDims, tensor.dim()));
  }
  Notice notice{call, argument, static_cast<int64_t>(tensor.scalar_type()), tensor.dim()};
  std::copy(tensor.sizes().begin(), tensor.sizes().end(), notice.begin() + 4);
  return notice;
}

// What compute() sees on a rank that has the metric: announces each call to the ranks that have not.
class Announcer final : public Communicator {
 public:
  Announcer(Communicator& communicator, int64_t source) : communicator_(communicator), source_(source) {}

  int64_t rank() const override { return communicator_.rank(); }
  int64_t world_size() const override { return communicator_.world_size(); }
  void all_reduce(at::Tensor& tensor, ReduceOp op) override {
    announce(describe_call(kAllReduce, tensor, static_cast<int64_t>(op)));
    communicator_.all_reduce(tensor, op);
  }
  void broadcast(at::Tensor& tensor, int64_t source) override {
    announce(describe_call(kBroadcast, tensor, source));
    communicator_.broadcast(tensor, source);
  }
  void barrier() override {
    announce({kBarrier});
    communicator_.barrier();
  }
  void announce(const Notice& notice) { (void)broadcast_notice(communicator_, notice, source_); }

 private:
  Communicator& communicator_;
  int64_t source_;
};

double neutral_element(ReduceOp op, at::ScalarType dtype) {
  if (op == ReduceOp::kSum) return 0.0;
  if (op == ReduceOp::kMean || dtype != at::kDouble) {
    throw DistributedError(
        "[MetricStore] a metric that not every rank has logged may use sums, and minima and maxima "
        "in double only. Log it on every rank.");
  }
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return op == ReduceOp::kMin ? kInfinity : -kInfinity;
}

// Takes part in one announced call with nothing to add.
void join_call(const Notice& notice, Communicator& communicator) {
  const auto [call, argument, dtype_number, dims] = std::array{notice[0], notice[1], notice[2], notice[3]};
  if (call == kBarrier) return communicator.barrier();
  const auto dtype = static_cast<at::ScalarType>(dtype_number);
  at::Tensor tensor = at::zeros(at::IntArrayRef(notice.data() + 4, static_cast<size_t>(dims)), dtype);
  if (call == kBroadcast) return communicator.broadcast(tensor, argument);
  const auto op = static_cast<ReduceOp>(argument);
  tensor.fill_(neutral_element(op, dtype));
  communicator.all_reduce(tensor, op);
}

double follow(int64_t source, Communicator& communicator) {
  while (true) {
    const Notice notice = broadcast_notice(communicator, {}, source);
    if (notice[0] == kFailed) {
      throw DistributedError(
          fmt::format("[MetricStore] a metric could not be computed on rank {}; see its error.", source));
    }
    if (notice[0] == kDone) {
      double value = 0.0;
      std::memcpy(&value, &notice[1], sizeof value);
      return value;
    }
    join_call(notice, communicator);
  }
}

}  // namespace

std::vector<std::string> gather_texts(Communicator& communicator, std::string_view mine) {
  const int64_t world_size = communicator.world_size();
  if (world_size == 1) return {std::string(mine)};
  // A sum of slices that are zero but for one rank's own is a gather.
  at::Tensor lengths = at::zeros({world_size}, at::kLong);
  auto* length = lengths.mutable_data_ptr<int64_t>();
  length[communicator.rank()] = static_cast<int64_t>(mine.size());
  communicator.all_reduce(lengths, ReduceOp::kSum);
  length = lengths.mutable_data_ptr<int64_t>();
  const int64_t width = (*std::max_element(length, length + world_size) + kWordBytes - 1) / kWordBytes;
  at::Tensor texts = at::zeros({world_size, width}, at::kLong);
  if (!mine.empty()) {
    std::memcpy(texts.mutable_data_ptr<int64_t>() + communicator.rank() * width, mine.data(), mine.size());
  }
  communicator.all_reduce(texts, ReduceOp::kSum);
  std::vector<std::string> result;
  for (int64_t rank = 0; rank < world_size; ++rank) {
    const auto* begin = reinterpret_cast<const char*>(texts.const_data_ptr<int64_t>() + rank * width);
    result.emplace_back(begin, static_cast<size_t>(length[rank]));
  }
  return result;
}

double compute_with_absent_ranks(const ScalarMetric* metric, int64_t source, Communicator& communicator) {
  if (metric == nullptr) return follow(source, communicator);
  Announcer announcer(communicator, source);
  double value = 0.0;
  try {
    value = metric->compute(announcer);
  } catch (const DistributedError&) {
    throw;  // the ranks can no longer talk
  } catch (const std::exception&) {
    announcer.announce({kFailed});
    throw;
  }
  Notice done{kDone};
  std::memcpy(&done[1], &value, sizeof value);
  announcer.announce(done);
  return value;
}

}  // namespace levin
