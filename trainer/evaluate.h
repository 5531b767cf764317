#pragma once

#include <filesystem>
#include <vector>

#include "trainer/core/batch.h"
#include "trainer/core/data_loader.h"
#include "trainer/core/lightning_data_module.h"
#include "trainer/core/lightning_module.h"
#include "trainer/core/metrics.h"
#include "trainer/run.h"

namespace levin {

struct Evaluation {
  Metrics metrics;
  std::vector<Batch> predictions;  ///< Of kPredict only.
};

/// A whole validation, test or prediction on its own, from setup to teardown. loader: nullptr for that of Run::data.
/// checkpoint: a folder whose weights are loaded first, or "". keeps_predictions: false to leave
/// Evaluation::predictions empty. The folder of the run stays if the pass got through.
Evaluation run_evaluation(Run& run, LightningModule& module, DataLoader* loader, Stage stage,
                          const std::filesystem::path& checkpoint, bool keeps_predictions = true);

}  // namespace levin
