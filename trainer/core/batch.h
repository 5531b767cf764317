#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace levin {

/// A batch is a small tree: a tensor, a list of batches, or named batches in insertion order.
///
/// It carries what a data loader delivers and what predict_step returns. Copying is shallow: tensors are shared.
/// Not safe for concurrent writes; concurrent reads are fine.
class Batch {
 public:
  using Items = std::vector<Batch>;
  using Fields = std::vector<std::pair<std::string, Batch>>;

  /// The empty list.
  Batch() : node_(Items{}) {}
  Batch(at::Tensor tensor) : node_(std::move(tensor)) {}  // implicit on purpose: a tensor is a batch
  Batch(Items items) : node_(std::move(items)) {}
  /// Errors: DataError if two fields have one name.
  Batch(Fields fields);

  /// A list of tensors: Batch::of(images, labels).
  template <class... Tensors>
  static Batch of(Tensors... tensors) {
    Items items;
    items.reserve(sizeof...(tensors));
    (items.emplace_back(std::move(tensors)), ...);
    return Batch(std::move(items));
  }

  bool is_tensor() const { return std::holds_alternative<at::Tensor>(node_); }
  bool is_list() const { return std::holds_alternative<Items>(node_); }
  bool is_fields() const { return std::holds_alternative<Fields>(node_); }

  /// The tensor of a leaf. Errors: DataError if this is not a leaf.
  const at::Tensor& tensor() const;
  /// The items of a list. Errors: DataError if this is not a list.
  const Items& items() const;
  /// The named fields. Errors: DataError if this has no fields.
  const Fields& fields() const;
  /// Item `index` of a list. Errors: DataError if this is not a list, or too short.
  const Batch& operator[](size_t index) const;
  /// The field called `name`. Errors: DataError, which lists the names there are.
  const Batch& operator[](std::string_view name) const;
  /// Number of items or fields; 1 for a leaf.
  size_t size() const;

  /// The first N tensors of a list: const auto [images, labels] = batch.tensors<2>().
  /// Errors: DataError if this is not a list of exactly N tensors.
  template <size_t N>
  std::array<at::Tensor, N> tensors() const {
    check_num_tensors(N);
    std::array<at::Tensor, N> result;
    for (size_t i = 0; i < N; ++i) result[i] = std::get<Items>(node_)[i].tensor();
    return result;
  }

  /// The same tree with each defined leaf replaced by fn(leaf). Undefined leaves stay as they are.
  Batch map(const std::function<at::Tensor(const at::Tensor&)>& fn) const;

  /// The batch on `device`. Where every leaf is there already, the same tensors without a copy.
  /// A copy from pinned memory is asynchronous on the current stream.
  Batch to(at::Device device) const;

  /// Number of samples: size(0) of the first leaf that has a dimension; 1 if all leaves are scalars.
  /// Errors: DataError if there is no leaf.
  int64_t batch_size() const;

  /// Samples [begin, end) of each leaf, for micro-batches. Scalars are kept whole.
  /// Errors: DataError if a leaf does not have that many samples.
  Batch slice(int64_t begin, int64_t end) const;

  /// One line for error texts, for example "[float32 [128, 1, 28, 28], int64 [128]]".
  std::string describe() const;

 private:
  void check_num_tensors(size_t expected) const;
  bool is_on(at::Device device) const;
  const at::Tensor* first_leaf_with_dim() const;
  bool has_leaf() const;

  std::variant<at::Tensor, Items, Fields> node_;
};

/// "float32 [128, 10]", or "undefined".
std::string describe_tensor(const at::Tensor& tensor);

}  // namespace levin
