#pragma once

#include <cstdint>
#include <string_view>

namespace levin {

/// What the Trainer is doing.
enum class Stage { kTrain, kValidate, kTest, kPredict };

/// "train", "validate", "test" or "predict".
std::string_view stage_name(Stage stage);

/// Where a run stands. `step` everywhere in Levin means one optimizer step.
struct TrainerState {
  int64_t epoch = 0;        ///< Current epoch, from 0; after a full fit, the number of epochs done.
  int64_t batch_idx = 0;    ///< Micro-batch within the epoch, from 0.
  int64_t global_step = 0;  ///< Optimizer steps done.
  int64_t num_samples = 0;  ///< Training samples seen, over all epochs and ranks.
};

}  // namespace levin
