#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "trainer/data/dataset.h"

namespace levin {

/// Samples from a safetensors file whose tensors are [N, ...]: a batch has a field for each, by its name. The file is
/// mapped: only the rows that are asked for are read, and nothing that is written to a batch reaches it.
class SafetensorsDataset final : public Dataset {
 public:
  /// tensors: the names of those that a batch has, in this order; empty: all, in the order of the file.
  /// Errors: DataError if the file cannot be read or is damaged, a name is not in it, a tensor is a scalar, two differ
  /// in N, or a BOOL is neither 0 nor 1.
  explicit SafetensorsDataset(const std::filesystem::path& file, const std::vector<std::string>& tensors = {});

  int64_t size() const override { return samples_.size(); }
  Batch get_batch(std::span<const int64_t> indices, const SampleRandom& random) const override {
    return samples_.get_batch(indices, random);
  }

 private:
  TensorDataset samples_;
};

}  // namespace levin
