#include "trainer/metrics/perplexity.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>

namespace levin {
namespace {

constexpr const char* kName = "Perplexity";
// Of the logits that are held in double at one time: 32 MiB.
constexpr int64_t kBlockElements = int64_t{1} << 22;

// -log softmax(logits)[target] of each row, in double. `targets` are in [0, V).
at::Tensor negative_log_likelihoods(const at::Tensor& logits, const at::Tensor& targets) {
  return logits.to(at::kDouble).log_softmax(1).gather(1, targets.unsqueeze(1)).squeeze(1).neg();
}

}  // namespace

void Perplexity::update(const at::Tensor& logits, const at::Tensor& targets) {
  const at::NoGradGuard no_grad;
  check_class_targets(kName, logits, targets);
  if (!logits.is_floating_point() || logits.dim() < 2 || logits.size(-1) == 0 || targets.scalar_type() == at::kBool ||
      logits.sizes().slice(0, static_cast<size_t>(logits.dim() - 1)) != targets.sizes()) {
    throw_misfit(kName, logits, targets, "logits must be [N, V] or [B, T, V] for targets [N] or [B, T]");
  }
  const int64_t num_classes = logits.size(-1);
  const at::Tensor rows = logits.reshape({-1, num_classes});
  const at::Tensor labels = targets.to(logits.device(), at::kLong).reshape({-1});
  const at::Tensor is_counted = labels.ne(options_.ignore_index);
  const at::Tensor is_valid = is_class(labels, num_classes).bitwise_and(is_counted);
  const at::Tensor in_range = labels.clamp(0, num_classes - 1);
  at::Tensor sum = at::zeros({1}, rows.options().dtype(at::kDouble));
  const int64_t block = std::max<int64_t>(1, kBlockElements / num_classes);
  for (int64_t begin = 0; begin < rows.size(0); begin += block) {
    const int64_t end = std::min(begin + block, rows.size(0));
    const at::Tensor values = negative_log_likelihoods(rows.slice(0, begin, end), in_range.slice(0, begin, end));
    sum.add_(values.masked_fill(is_valid.slice(0, begin, end).bitwise_not(), 0.0).sum());
  }
  accumulate(sum_, sum);
  accumulate(counts_, at::stack({is_valid.sum(), is_counted.bitwise_and(is_valid.bitwise_not()).sum()}));
}

double Perplexity::compute(Communicator& communicator) const {
  const at::Tensor sum = sum_over_ranks(sum_, {1}, at::kDouble, communicator);
  const at::Tensor counts = sum_over_ranks(counts_, {2}, at::kLong, communicator);
  const auto* count = counts.const_data_ptr<int64_t>();
  check_num_invalid(kName, count[1]);
  return std::exp(*sum.const_data_ptr<double>() / static_cast<double>(count[0]));  // 0 / 0 is NaN
}

void Perplexity::reset() {
  sum_.reset();
  counts_.reset();
}

StateDict Perplexity::state() const {
  StateDict state;
  state.set("sum", copy_sum(sum_, {1}, at::kDouble));
  state.set("counts", copy_sum(counts_, {2}, at::kLong));
  return state;
}

void Perplexity::merge_state(const StateDict& state) {
  const at::Tensor sum = saved_sum(kName, state, "sum", {1}, at::kDouble);
  const at::Tensor counts = saved_sum(kName, state, "counts", {2}, at::kLong);
  accumulate(sum_, sum);
  accumulate(counts_, counts);
}

}  // namespace levin
