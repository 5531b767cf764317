#pragma once

#include <ATen/ops/full.h>

#include <limits>

#include "trainer/core/error.h"
#include "trainer/core/metric.h"

namespace levin {

/// The mean of whole numbers.
class WholeMean final : public ScalarMetric {
 public:
  void update(int64_t value) {
    sum_ += value;
    ++count_;
  }
  double compute(Communicator& communicator) const override {
    at::Tensor totals = at::full({2}, sum_, at::kLong);
    totals[1].fill_(count_);
    communicator.all_reduce(totals, ReduceOp::kSum);
    communicator.barrier();
    const int64_t sum = totals[0].item().toLong();
    const int64_t count = totals[1].item().toLong();
    if (sum < 0) throw ModelError("[WholeMean] the sum is negative.");
    return count == 0 ? std::numeric_limits<double>::quiet_NaN()
                      : static_cast<double>(sum) / static_cast<double>(count);
  }
  void reset() override {
    sum_ = 0;
    count_ = 0;
  }
  StateDict state() const override {
    StateDict state;
    state.set("sum", sum_);
    state.set("count", count_);
    return state;
  }
  void merge_state(const StateDict& state) override {
    const int64_t sum = state.integer("sum");
    count_ += state.integer("count");
    sum_ += sum;
  }

 private:
  int64_t sum_ = 0;
  int64_t count_ = 0;
};

}  // namespace levin
