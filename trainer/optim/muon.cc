#include "trainer/optim/muon.h"

#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/zeros_like.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "trainer/core/batch.h"
#include "trainer/optim/adam_state.h"
#include "trainer/optim/name_patterns.h"

namespace levin {
namespace {

constexpr size_t kMomentumBuffer = 3;  // after AdamW's three

const GroupOptions<AdamWOptions>* as_adamw(const torch::optim::OptimizerOptions& options) {
  return dynamic_cast<const GroupOptions<AdamWOptions>*>(&options);
}

NamedParameters without_names(const std::vector<at::Tensor>& parameters) {
  NamedParameters result;
  for (const at::Tensor& tensor : parameters) result.emplace_back("", tensor);
  return result;
}

/// matrix [A, B] -> [A, B], bfloat16, with singular values near 1.
at::Tensor orthogonalize(const at::Tensor& matrix, const MuonOptions& options) {
  const std::vector<double>& c = options.ns_coefficients;
  const bool is_tall = matrix.size(0) > matrix.size(1);
  at::Tensor result = matrix.to(at::kBFloat16, /*non_blocking=*/false, /*copy=*/true);
  if (is_tall) result = result.t();
  result.div_(result.norm().clamp_min_(options.eps));  // no singular value is above 1 then
  for (int64_t i = 0; i < options.ns_steps; ++i) {
    const at::Tensor gram = result.matmul(result.t());
    result = at::addmm(result, at::addmm(gram, gram, gram, c[1], c[2]), result, c[0]);
  }
  return is_tall ? result.t() : result;
}

double shape_factor(const at::Tensor& param, const std::string& rule) {
  const auto rows = static_cast<double>(param.size(0));
  const auto columns = static_cast<double>(param.size(1));
  if (rule == "match_rms_adamw") return 0.2 * std::sqrt(std::max(rows, columns));
  return std::sqrt(std::max(1.0, rows / columns));
}

}  // namespace

Muon::Muon(const NamedParameters& parameters, const Options& options) : Muon(groups_of(parameters, options), options) {}

Muon::Muon(const std::vector<at::Tensor>& parameters, const Options& options)
    : Muon(without_names(parameters), options) {}

Muon::Muon(const std::vector<Group>& groups, const Options& options) : OptimizerWith("Muon", groups, options) {
  check_groups();
  for (const Group& group : param_groups_) {
    if (as_adamw(group.options()) != nullptr) continue;
    for (const at::Tensor& param : group.params()) {
      if (param.dim() == 2) continue;
      throw ConfigError(fmt::format("[Muon] a parameter must be 2-D, got {}. Put it into a group with AdamWOptions.",
                                    describe_tensor(param)));
    }
  }
}

std::vector<Muon::Group> Muon::groups_of(const NamedParameters& parameters, const Options& options,
                                         const std::vector<std::string>& no_decay) {
  check_optimizer("Muon", options);
  const std::vector<bool> named = match_names("Muon", "adamw_parameters", options.adamw_parameters, parameters);
  const std::vector<bool> undecayed = match_names("Muon", "no_decay", no_decay, parameters);
  std::array<std::array<std::vector<at::Tensor>, 2>, 2> tensors;  // [is AdamW's][is without decay]
  for (size_t i = 0; i < parameters.size(); ++i) {
    const at::Tensor& tensor = parameters[i].second;
    const bool is_adamw = tensor.dim() != 2 || named[i];
    tensors[is_adamw ? 1 : 0][undecayed[i] ? 1 : 0].push_back(tensor);
  }
  MuonOptions muon = options;
  AdamWOptions adamw{.lr = options.adamw_lr.value_or(options.lr),
                     .betas = options.adamw_betas,
                     .eps = options.adamw_eps,
                     .weight_decay = options.adamw_weight_decay};
  std::vector<Group> groups;
  for (size_t decay = 0; decay < 2; ++decay) {
    if (decay == 1) muon.weight_decay = adamw.weight_decay = 0.0;
    const auto add = [&](const std::vector<at::Tensor>& members, auto group_options) {
      if (!members.empty()) groups.emplace_back(members, std::move(group_options));
    };
    add(tensors[0][decay], std::make_unique<GroupOptions<MuonOptions>>(muon));
    add(tensors[1][decay], std::make_unique<GroupOptions<AdamWOptions>>(adamw));
  }
  return groups;
}

const std::vector<std::string>& Muon::state_names() const {
  static const std::vector<std::string> names = {"step", "exp_avg", "exp_avg_sq", "momentum_buffer"};
  return names;
}

std::vector<at::Tensor> Muon::initial_state(const at::Tensor& parameter, const AnyGroupOptions& options) const {
  if (as_adamw(options) == nullptr) return {{}, {}, {}, at::zeros_like(parameter)};
  std::vector<at::Tensor> state = initial_adam_state(parameter, /*amsgrad=*/false);
  state[kMomentumBuffer].reset();
  return state;
}

void Muon::check_group(const torch::optim::OptimizerOptions& options) const {
  if (const auto* adamw = as_adamw(options)) {
    check_optimizer("Muon", adamw->fields);
    if (adamw->fields.amsgrad) throw ConfigError("[Muon] amsgrad must be false for AdamW's parameters, got true.");
  } else {
    OptimizerWith::check_group(options);
  }
}

void Muon::update(const AnyGroupOptions& options, Bucket& bucket) {
  if (const auto* adamw = as_adamw(options)) {
    const AdamWOptions& o = adamw->fields;
    auto& state = bucket.state;
    advance_steps(state[kStep]);
    bucket.for_ranges([&](size_t begin, size_t count) {
      const auto range = [&](const std::vector<at::Tensor>& tensors) { return range_of(tensors, begin, count); };
      at::_fused_adamw_(range(bucket.params), range(bucket.grads), range(state[kExpAvg]), range(state[kExpAvgSq]), {},
                        range(state[kStep]), o.lr, o.betas[0], o.betas[1], o.weight_decay, o.eps, /*amsgrad=*/false,
                        o.maximize);
    });
    return;
  }
  const MuonOptions& o = fields(options);
  for (size_t i = 0; i < bucket.params.size(); ++i) {
    at::Tensor& param = bucket.params[i];
    const at::Tensor& grad = bucket.grads[i];
    at::Tensor& buffer = bucket.state[kMomentumBuffer][i];
    buffer.lerp_(grad, 1.0 - o.momentum);
    const at::Tensor direction = orthogonalize(o.nesterov ? grad.lerp(buffer, o.momentum) : buffer, o);
    if (o.weight_decay != 0.0) param.mul_(1.0 - o.lr * o.weight_decay);
    param.add_(direction, -o.lr * shape_factor(param, o.adjust_lr));
  }
}

}  // namespace levin
