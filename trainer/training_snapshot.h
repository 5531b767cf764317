#pragma once

#include <utility>
#include <vector>

#include "trainer/core/lightning_module.h"
#include "trainer/core/random.h"
#include "trainer/core/state_dict.h"
#include "trainer/run.h"

namespace levin {

/// Puts back at the end of its scope what a trial training changes: weights, buffers, gradients (none), train and eval
/// flags, what the module, the data module and the precision keep in a checkpoint, and the random generators.
class TrainingSnapshot {
 public:
  /// The references must outlive the snapshot. Its copies of tensors are on the CPU (collective).
  TrainingSnapshot(Run& run, LightningModule& module);
  ~TrainingSnapshot();
  TrainingSnapshot(const TrainingSnapshot&) = delete;
  TrainingSnapshot& operator=(const TrainingSnapshot&) = delete;

 private:
  void put_back();

  Run& run_;
  LightningModule& module_;
  RandomStateScope random_;
  StateDict model_;
  StateDict module_extra_;
  StateDict data_;
  StateDict precision_;
  std::vector<std::pair<std::shared_ptr<torch::nn::Module>, bool>> train_flags_;
};

}  // namespace levin
