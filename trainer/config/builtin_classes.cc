#include <memory>

#include "callbacks/exponential_moving_average.h"
#include "callbacks/gradient_norm_monitor.h"
#include "callbacks/loggers/csv_logger.h"
#include "callbacks/loss_guard.h"
#include "callbacks/model_checkpoint.h"
#include "callbacks/model_summary.h"
#include "callbacks/progress_bar.h"
#include "callbacks/stochastic_weight_averaging.h"
#include "callbacks/throughput_monitor.h"
#include "trainer/config/registry.h"
#include "trainer/optim/optimizer_options.h"

namespace levin {
namespace {

template <class Options>
void add_optimizer(Registry& registry, const std::string& name) {
  registry.optimizers.add_with_options<Options>(name, [](const Options& options) {
    return std::make_shared<OptimizerFactory>(
        [options](std::vector<at::Tensor> parameters) { return options.make(std::move(parameters)); });
  });
}

}  // namespace

void add_builtin_classes(Registry& registry) {
  add_optimizer<SgdOptions>(registry, "SGD");
  add_optimizer<AdamOptions>(registry, "Adam");
  add_optimizer<AdamWOptions>(registry, "AdamW");
  add_optimizer<RmspropOptions>(registry, "RMSprop");
  add_optimizer<AdagradOptions>(registry, "Adagrad");

  registry.callbacks.add<ExponentialMovingAverage>("ExponentialMovingAverage");
  registry.callbacks.add<GradientNormMonitor>("GradientNormMonitor");
  registry.callbacks.add<LossGuard>("LossGuard");
  registry.callbacks.add<ModelCheckpoint>("ModelCheckpoint");
  registry.callbacks.add<ModelSummary>("ModelSummary");
  registry.callbacks.add<ProgressBar>("ProgressBar");
  registry.callbacks.add<StochasticWeightAveraging>("StochasticWeightAveraging");
  registry.callbacks.add<ThroughputMonitor>("ThroughputMonitor");

  registry.loggers.add<CSVLogger>("CSVLogger");
}

}  // namespace levin
