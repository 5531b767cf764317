#include "trainer/metrics/auroc.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <c10/core/InferenceMode.h>
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "trainer/core/batch.h"
#include "trainer/core/error.h"

namespace levin {
namespace {

constexpr const char* kName = "Auroc";
constexpr int64_t kIgnored = -1;
constexpr int64_t kInvalid = -2;
constexpr int64_t kMinCapacity = 1024;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// [N, C] or [N, 1] of the scores that `columns` asks for.
at::Tensor to_rows(const at::Tensor& scores, bool has_classes, int64_t columns) {
  if (!has_classes) return scores.reshape({-1, 1});
  if (columns == 1) return scores.select(1, 1).reshape({-1, 1});
  return scores.movedim(1, -1).reshape({-1, columns});
}

// A buffer with `capacity` rows of these types that begins with the `size` rows of `old`, which may be undefined.
at::Tensor grow(const at::Tensor& old, int64_t size, int64_t capacity, at::IntArrayRef row,
                const at::TensorOptions& options) {
  std::vector<int64_t> sizes = {capacity};
  sizes.insert(sizes.end(), row.begin(), row.end());
  at::Tensor grown = at::empty(sizes, options);
  if (size > 0) grown.slice(0, 0, size).copy_(old.slice(0, 0, size));
  return grown;
}

bool fits(const at::Tensor& buffer, int64_t capacity, const at::TensorOptions& options) {
  return buffer.defined() && buffer.size(0) >= capacity && buffer.device() == options.device() &&
         buffer.dtype() == options.dtype();
}

struct Slices {
  int64_t begin = 0;  // of this rank
  int64_t total = 0;
};

Slices find_slices(int64_t size, Communicator& communicator) {
  at::Tensor sizes = at::zeros({communicator.world_size()}, at::kLong);
  sizes.mutable_data_ptr<int64_t>()[communicator.rank()] = size;
  communicator.all_reduce(sizes, ReduceOp::kSum);
  const auto* of_rank = sizes.const_data_ptr<int64_t>();
  Slices slices;
  for (int64_t rank = 0; rank < communicator.world_size(); ++rank) {
    if (rank < communicator.rank()) slices.begin += of_rank[rank];
    slices.total += of_rank[rank];
  }
  return slices;
}

// The rows of all ranks: a sum of slices that are zero but for one rank's own is a gather.
at::Tensor gather(const at::Tensor& rows, const Slices& slices, Communicator& communicator) {
  std::vector<int64_t> sizes = rows.sizes().vec();
  sizes[0] = slices.total;
  at::Tensor all = at::zeros(sizes, rows.options());
  all.slice(0, slices.begin, slices.begin + rows.size(0)).copy_(rows);
  communicator.all_reduce(all, ReduceOp::kSum);
  return all;
}

}  // namespace

double binary_auroc(const at::Tensor& scores, const at::Tensor& is_positive) {
  if (scores.isnan().any().item().toBool()) return kNaN;
  const auto [sorted, order] = scores.to(at::kDouble).contiguous().sort();
  const at::Tensor labels = is_positive.index_select(0, order).contiguous();
  const auto* score = sorted.const_data_ptr<double>();
  const auto* label = labels.const_data_ptr<bool>();
  // Integers in double: exact to 2^53 pairs, whatever the order of equal scores.
  double num_positive = 0.0;
  double num_negative = 0.0;
  double ordered_pairs = 0.0;
  for (int64_t i = 0, size = scores.numel(); i < size;) {
    double positive = 0.0;
    double negative = 0.0;
    for (const double tied = score[i]; i < size && score[i] == tied; ++i) ++(label[i] ? positive : negative);
    ordered_pairs += positive * num_negative + 0.5 * positive * negative;
    num_positive += positive;
    num_negative += negative;
  }
  return ordered_pairs / (num_positive * num_negative);  // 0 / 0 is NaN
}

Auroc::Auroc(AurocOptions options) : options_(options) {
  if (options_.num_classes < 2) {
    throw ConfigError(fmt::format("[{}] num_classes must be at least 2, got {}.", kName, options_.num_classes));
  }
}

void Auroc::append(const at::Tensor& scores, const at::Tensor& targets) {
  // The buffers outlive the batch, so they must not be inference tensors.
  const c10::InferenceMode no_inference_mode(false);
  const at::NoGradGuard no_grad;
  const int64_t size = size_ + scores.size(0);
  const bool is_wide =
      scores.scalar_type() == at::kDouble || (scores_.defined() && scores_.scalar_type() == at::kDouble);
  const auto options = scores.options().dtype(is_wide ? at::kDouble : at::kFloat).requires_grad(false);
  if (!fits(scores_, size, options)) {
    const int64_t capacity = std::max({kMinCapacity, size, 2 * size_});
    scores_ = grow(scores_, size_, capacity, {num_columns()}, options);
    targets_ = grow(targets_, size_, capacity, {}, options.dtype(at::kLong));
  }
  scores_.slice(0, size_, size).copy_(scores);
  targets_.slice(0, size_, size).copy_(targets);
  size_ = size;
}

void Auroc::update(const at::Tensor& scores, const at::Tensor& targets) {
  const at::NoGradGuard no_grad;
  check_class_targets(kName, scores, targets);
  const bool has_classes = has_class_dim(scores, targets);
  const bool is_score_of_one = options_.num_classes == 2 && scores.sizes() == targets.sizes();
  if (!scores.is_floating_point() || !(has_classes ? scores.size(1) == options_.num_classes : is_score_of_one)) {
    throw_misfit(kName, scores, targets,
                 fmt::format("scores must be [N, {}, ...]{} of floating type for targets [N, ...]",
                             options_.num_classes, options_.num_classes == 2 ? " or [N, ...]" : ""));
  }
  const at::Tensor labels = targets.to(scores.device(), at::kLong).reshape({-1});
  append(to_rows(scores, has_classes, num_columns()),
         labels.masked_fill(is_class(labels, options_.num_classes).bitwise_not(), kInvalid)
             .masked_fill(labels.eq(options_.ignore_index), kIgnored));
}

double Auroc::compute(Communicator& communicator) const {
  const StateDict kept = state();
  at::Tensor targets = kept.tensor("targets").cpu();
  const at::Tensor counted = targets.ne(kIgnored).nonzero().squeeze(1);
  targets = targets.index_select(0, counted);
  at::Tensor scores = kept.tensor("scores").cpu().index_select(0, counted);
  if (communicator.world_size() > 1) {
    const Slices slices = find_slices(targets.size(0), communicator);
    targets = gather(targets, slices, communicator);
    // All ranks use one type; widening changes no value.
    scores = gather(scores.to(at::kDouble), slices, communicator);
  }
  check_num_invalid(kName, targets.eq(kInvalid).sum().item().toLong());
  double sum = 0.0;
  double num_defined = 0.0;
  for (int64_t column = 0; column < num_columns(); ++column) {
    const int64_t positive_class = num_columns() == 1 ? 1 : column;
    const double area = binary_auroc(scores.select(1, column), targets.eq(positive_class));
    if (area != area && !scores.select(1, column).isnan().any().item().toBool()) continue;  // one kind only
    sum += area;
    ++num_defined;
  }
  return sum / num_defined;  // 0 / 0 is NaN
}

void Auroc::reset() {
  size_ = 0;
  scores_.reset();
  targets_.reset();
}

StateDict Auroc::state() const {
  StateDict state;
  state.set("scores", scores_.defined() ? scores_.slice(0, 0, size_).clone() : at::zeros({0, num_columns()}));
  state.set("targets", targets_.defined() ? targets_.slice(0, 0, size_).clone() : at::zeros({0}, at::kLong));
  return state;
}

void Auroc::merge_state(const StateDict& state) {
  const at::Tensor& scores = state.tensor("scores");
  const at::Tensor& targets = state.tensor("targets");
  if (scores.dim() != 2 || scores.size(1) != num_columns() || !scores.is_floating_point() || targets.dim() != 1 ||
      targets.scalar_type() != at::kLong || targets.size(0) != scores.size(0)) {
    throw CheckpointError(
        fmt::format("[{}] the saved scores must be [N, {}] for int64 targets [N], got {} and {}. Are "
                    "the options the same?",
                    kName, num_columns(), describe_tensor(scores), describe_tensor(targets)));
  }
  append(scores, targets);
}

}  // namespace levin
