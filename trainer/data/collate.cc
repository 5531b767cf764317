#include "trainer/data/collate.h"

#include <ATen/ops/full.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "trainer/core/error.h"

namespace levin {
namespace {

using Leaves = std::vector<at::Tensor>;

/// Makes a batched leaf of the samples' leaves at one place of the tree. number: of the leaf, in the tree's order.
using CombineLeaves = std::function<at::Tensor(const Leaves& leaves, size_t number, const std::string& where)>;

[[noreturn]] void throw_different(const std::string& where, size_t sample, const std::string& first,
                                  const std::string& other) {
  throw DataError(
      fmt::format("[collate] the samples of a batch must be alike, but {} is {} in the first and {} in sample {} of "
                  "the batch.",
                  where.empty() ? "the whole" : where, first, other, sample));
}

std::string kind_of(const Batch& node) {
  if (node.is_tensor()) return describe_tensor(node.tensor());
  return node.is_list() ? fmt::format("a list of {}", node.size()) : fmt::format("{} fields", node.size());
}

class TreeCombiner {
 public:
  explicit TreeCombiner(const CombineLeaves& combine) : combine_(combine) {}

  Batch combine(const std::vector<const Batch*>& nodes, const std::string& where) {
    const Batch& first = *nodes.front();
    for (size_t i = 1; i < nodes.size(); ++i) {
      const bool is_alike = first.is_tensor() == nodes[i]->is_tensor() && first.is_list() == nodes[i]->is_list() &&
                            first.size() == nodes[i]->size();
      if (!is_alike) throw_different(where, i, kind_of(first), kind_of(*nodes[i]));
    }
    if (first.is_tensor()) return combine_leaves(nodes, where);
    return first.is_list() ? combine_items(nodes, where) : combine_fields(nodes, where);
  }

 private:
  at::Tensor combine_leaves(const std::vector<const Batch*>& nodes, const std::string& where) {
    Leaves leaves;
    leaves.reserve(nodes.size());
    for (const Batch* node : nodes) leaves.push_back(node->tensor());
    return combine_(leaves, number_++, where.empty() ? "the tensor" : where);
  }

  Batch combine_items(const std::vector<const Batch*>& nodes, const std::string& where) {
    Batch::Items items;
    for (size_t item = 0; item < nodes.front()->size(); ++item) {
      items.push_back(combine(children(nodes, [&](const Batch& node) { return &node.items()[item]; }),
                              fmt::format("{}[{}]", where, item)));
    }
    return Batch(std::move(items));
  }

  Batch combine_fields(const std::vector<const Batch*>& nodes, const std::string& where) {
    Batch::Fields fields;
    for (size_t field = 0; field < nodes.front()->size(); ++field) {
      const std::string& name = nodes.front()->fields()[field].first;
      for (size_t i = 1; i < nodes.size(); ++i) {
        const std::string& other = nodes[i]->fields()[field].first;
        if (other != name) throw_different(where, i, "field \"" + name + "\"", "field \"" + other + "\"");
      }
      fields.emplace_back(name,
                          combine(children(nodes, [&](const Batch& node) { return &node.fields()[field].second; }),
                                  fmt::format("{}[\"{}\"]", where, name)));
    }
    return Batch(std::move(fields));
  }

  template <class Child>
  static std::vector<const Batch*> children(const std::vector<const Batch*>& nodes, Child child) {
    std::vector<const Batch*> result;
    result.reserve(nodes.size());
    for (const Batch* node : nodes) result.push_back(child(*node));
    return result;
  }

  const CombineLeaves& combine_;
  size_t number_ = 0;
};

Batch combine_samples(std::span<const Batch> samples, const CombineLeaves& combine) {
  if (samples.empty()) throw DataError("[collate] a batch has at least one sample, got none.");
  std::vector<const Batch*> nodes;
  nodes.reserve(samples.size());
  for (const Batch& sample : samples) nodes.push_back(&sample);
  return TreeCombiner(combine).combine(nodes, "");
}

void check_alike(const Leaves& leaves, int64_t first_dimension, const std::string& where) {
  const at::Tensor& first = leaves.front();
  for (size_t i = 1; i < leaves.size(); ++i) {
    const at::Tensor& leaf = leaves[i];
    const bool is_alike =
        first.defined() == leaf.defined() &&
        (!first.defined() || (leaf.scalar_type() == first.scalar_type() && leaf.dim() == first.dim() &&
                              (first.dim() < first_dimension ||
                               leaf.sizes().slice(first_dimension) == first.sizes().slice(first_dimension))));
    if (!is_alike) throw_different(where, i, describe_tensor(first), describe_tensor(leaf));
  }
}

at::Tensor stack_leaves(const Leaves& leaves, size_t /*number*/, const std::string& where) {
  check_alike(leaves, 0, where);
  return leaves.front().defined() ? at::stack(leaves) : at::Tensor();
}

class Padder {
 public:
  explicit Padder(PadOptions options) : options_(std::move(options)) {}

  Batch operator()(std::span<const Batch> samples) const {
    at::Tensor lengths;
    const CombineLeaves pad = [&](const Leaves& leaves, size_t number, const std::string& where) {
      if (!leaves.front().defined() || leaves.front().dim() == 0) return stack_leaves(leaves, number, where);
      check_alike(leaves, 1, where);
      if (!lengths.defined()) lengths = lengths_of(leaves);
      return pad_leaves(leaves, options_.values[std::min(number, options_.values.size() - 1)]);
    };
    const Batch batch = combine_samples(samples, pad);
    return lengths.defined() ? with_lengths(batch, lengths) : batch;
  }

 private:
  static at::Tensor lengths_of(const Leaves& leaves) {
    std::vector<int64_t> lengths;
    lengths.reserve(leaves.size());
    for (const at::Tensor& leaf : leaves) lengths.push_back(leaf.size(0));
    return at::tensor(lengths, at::kLong);
  }

  at::Tensor pad_leaves(const Leaves& leaves, double value) const {
    int64_t longest = 0;
    for (const at::Tensor& leaf : leaves) longest = std::max(longest, leaf.size(0));
    longest = (longest + options_.multiple_of - 1) / options_.multiple_of * options_.multiple_of;

    std::vector<int64_t> shape = leaves.front().sizes().vec();
    shape[0] = longest;
    shape.insert(shape.begin(), static_cast<int64_t>(leaves.size()));
    at::Tensor padded = at::full(shape, value, leaves.front().options());
    for (size_t i = 0; i < leaves.size(); ++i) {
      padded.select(0, static_cast<int64_t>(i)).narrow(0, 0, leaves[i].size(0)).copy_(leaves[i]);
    }
    return padded;
  }

  static Batch with_lengths(const Batch& batch, const at::Tensor& lengths) {
    if (batch.is_fields()) {
      Batch::Fields fields = batch.fields();
      fields.emplace_back("lengths", lengths);
      return Batch(std::move(fields));
    }
    Batch::Items items = batch.is_list() ? batch.items() : Batch::Items{batch};
    items.emplace_back(lengths);
    return Batch(std::move(items));
  }

  PadOptions options_;
};

}  // namespace

Batch stack_samples(std::span<const Batch> samples) { return combine_samples(samples, stack_leaves); }

Collate pad_collate(PadOptions options) {
  if (options.multiple_of < 1) {
    throw ConfigError(fmt::format("[pad_collate] multiple_of must be >= 1, got {}.", options.multiple_of));
  }
  if (options.values.empty()) throw ConfigError("[pad_collate] values must have at least one value, got none.");
  return Padder(std::move(options));
}

}  // namespace levin
