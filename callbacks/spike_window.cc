#include "callbacks/spike_window.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace levin {

bool SpikeWindow::is_spike(double value) const {
  if (!std::isfinite(value)) return true;
  if (size() < limits_.warmup || (!limits_.num_std && !limits_.ratio)) return false;
  const double center = mean();
  if (limits_.num_std && value <= center + *limits_.num_std * standard_deviation()) return false;
  return !limits_.ratio || value > center + (*limits_.ratio - 1.0) * std::abs(center);
}

void SpikeWindow::add(double value) {
  values_.push_back(value);
  if (size() > limits_.size) values_.pop_front();
}

double SpikeWindow::mean() const {
  if (values_.empty()) return 0.0;
  return std::accumulate(values_.begin(), values_.end(), 0.0) / static_cast<double>(values_.size());
}

double SpikeWindow::standard_deviation() const {
  if (values_.empty()) return 0.0;
  const double center = mean();
  double sum = 0.0;
  for (const double value : values_) sum += (value - center) * (value - center);
  return std::sqrt(sum / static_cast<double>(values_.size()));
}

StateDict SpikeWindow::state() const {
  const at::Tensor values = at::empty({size()}, at::kDouble);
  std::copy(values_.begin(), values_.end(), values.mutable_data_ptr<double>());
  StateDict state;
  state.set("values", values);
  return state;
}

void SpikeWindow::load_state(const StateDict& state) {
  const at::Tensor values = state.tensor("values").to(at::kCPU, at::kDouble).contiguous();
  values_.clear();
  for (int64_t i = 0; i < values.numel(); ++i) add(values.const_data_ptr<double>()[i]);
}

}  // namespace levin
