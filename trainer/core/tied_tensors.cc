#include "trainer/core/tied_tensors.h"

#include <map>
#include <utility>

namespace levin {
namespace {

bool looks_alike(const at::Tensor& a, const at::Tensor& b) {
  return a.scalar_type() == b.scalar_type() && a.sizes() == b.sizes() && a.strides() == b.strides() &&
         a.is_conj() == b.is_conj() && a.is_neg() == b.is_neg();
}

}  // namespace

std::vector<size_t> find_ties(const std::vector<at::Tensor>& tensors) {
  std::map<std::pair<const void*, int64_t>, std::vector<size_t>> seen;
  std::vector<size_t> first(tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    first[i] = i;
    const at::Tensor& tensor = tensors[i];
    if (!tensor.defined() || tensor.layout() != at::kStrided || !tensor.has_storage() || tensor.numel() == 0) continue;
    std::vector<size_t>& candidates = seen[{tensor.storage().unsafeGetStorageImpl(), tensor.storage_offset()}];
    for (const size_t j : candidates) {
      if (looks_alike(tensor, tensors[j])) first[i] = j;
    }
    if (first[i] == i) candidates.push_back(i);
  }
  return first;
}

}  // namespace levin
