#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "trainer/data/dataset.h"

namespace levin {

/// Samples from .npy files, each of which holds [N, ...]: for example inputs and targets. A batch is the list of the
/// files' rows in their order, or has a field for each where names are given. The files are mapped, see read_numpy().
class NumpyDataset final : public Dataset {
 public:
  /// Errors: ConfigError if there are no files, or not as many names as files; DataError if a file cannot be read, is a
  /// scalar, or differs in N from the first.
  explicit NumpyDataset(const std::vector<std::filesystem::path>& files, const std::vector<std::string>& names = {});

  int64_t size() const override { return samples_.size(); }
  Batch get_batch(std::span<const int64_t> indices, const SampleRandom& random) const override {
    return samples_.get_batch(indices, random);
  }

 private:
  TensorDataset samples_;
};

}  // namespace levin
