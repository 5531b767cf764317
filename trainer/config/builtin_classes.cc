#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "callbacks/backbone_finetuning.h"
#include "callbacks/device_stats.h"
#include "callbacks/early_stopping.h"
#include "callbacks/exponential_moving_average.h"
#include "callbacks/gradient_accumulation_scheduler.h"
#include "callbacks/gradient_norm_monitor.h"
#include "callbacks/learning_rate_monitor.h"
#include "callbacks/loggers/csv_logger.h"
#include "callbacks/loggers/json_lines_logger.h"
#include "callbacks/loggers/tensorboard_logger.h"
#include "callbacks/loss_guard.h"
#include "callbacks/model_checkpoint.h"
#include "callbacks/model_summary.h"
#include "callbacks/prediction_writer.h"
#include "callbacks/progress_bar.h"
#include "callbacks/stochastic_weight_averaging.h"
#include "callbacks/throughput_monitor.h"
#include "callbacks/timer.h"
#include "trainer/config/registry.h"
#include "trainer/config/scheduler_section.h"
#include "trainer/data/images/idx_image_data.h"
#include "trainer/data/images/image_folder_data.h"
#include "trainer/data/tables/csv_data.h"
#include "trainer/data/tables/numpy_data.h"
#include "trainer/data/tables/safetensors_data.h"
#include "trainer/data/text/text_data.h"
#include "trainer/data/tokens/token_data.h"
#include "trainer/optim/adafactor.h"
#include "trainer/optim/adagrad.h"
#include "trainer/optim/adam.h"
#include "trainer/optim/check_optimizer.h"
#include "trainer/optim/lbfgs.h"
#include "trainer/optim/lion.h"
#include "trainer/optim/make_optimizer.h"
#include "trainer/optim/muon.h"
#include "trainer/optim/rmsprop.h"
#include "trainer/optim/schedules/constant_lr.h"
#include "trainer/optim/schedules/cosine_annealing_lr.h"
#include "trainer/optim/schedules/cosine_annealing_warm_restarts.h"
#include "trainer/optim/schedules/exponential_lr.h"
#include "trainer/optim/schedules/linear_lr.h"
#include "trainer/optim/schedules/multi_step_lr.h"
#include "trainer/optim/schedules/one_cycle_lr.h"
#include "trainer/optim/schedules/polynomial_lr.h"
#include "trainer/optim/schedules/reduce_lr_on_plateau.h"
#include "trainer/optim/schedules/step_lr.h"
#include "trainer/optim/schedules/warmup_cosine_lr.h"
#include "trainer/optim/schedules/warmup_stable_decay_lr.h"
#include "trainer/optim/sgd.h"

namespace levin {
namespace {

/// `optimizer:` of an optimizer of Levin: its options, and which parameters have no weight decay.
template <class O>
struct OptimizerSection {
  typename O::Options options = {};
  std::vector<std::string> no_decay = {};
  void visit(OptionVisitor& visitor) {
    options.visit(visitor);
    visitor.field("no_decay", no_decay, "name patterns (*.bias) of parameters without weight decay");
  }
};

template <class O>
void add_optimizer(Registry& registry, const std::string& name) {
  registry.optimizers.add_with_options<OptimizerSection<O>>(name, [name](const OptimizerSection<O>& section) {
    check_optimizer(name.c_str(), section.options);
    return std::make_shared<OptimizerFactory>([section](const NamedParameters& parameters) -> Optimizers {
      return make_optimizer<O>(parameters, section.options, section.no_decay);
    });
  });
}

void add_optimizers(Registry& registry) {
  add_optimizer<SGD>(registry, "SGD");
  add_optimizer<Adam>(registry, "Adam");
  add_optimizer<AdamW>(registry, "AdamW");
  add_optimizer<RMSprop>(registry, "RMSprop");
  add_optimizer<Adagrad>(registry, "Adagrad");
  add_optimizer<Lion>(registry, "Lion");
  add_optimizer<Adafactor>(registry, "Adafactor");
  add_optimizer<Muon>(registry, "Muon");
  registry.optimizers.add_with_options<LbfgsOptions>("LBFGS", [](const LbfgsOptions& options) {
    check_optimizer("LBFGS", options);
    return std::make_shared<OptimizerFactory>([options](std::vector<at::Tensor> parameters) -> Optimizers {
      return make_lbfgs(std::move(parameters), options);
    });
  });
}

void add_schedules(Registry& registry) {
  ClassTable<ScheduleFactory>& table = registry.schedulers;
  add_schedule<ConstantLR>(table, "ConstantLR");
  add_schedule<LinearLR>(table, "LinearLR");
  add_schedule<WarmupCosineLR>(table, "WarmupCosineLR");
  add_schedule<WarmupStableDecayLR>(table, "WarmupStableDecayLR");
  add_schedule<CosineAnnealingLR>(table, "CosineAnnealingLR");
  add_schedule<CosineAnnealingWarmRestarts>(table, "CosineAnnealingWarmRestarts");
  add_schedule<PolynomialLR>(table, "PolynomialLR");
  add_schedule<StepLR>(table, "StepLR");
  add_schedule<MultiStepLR>(table, "MultiStepLR");
  add_schedule<ExponentialLR>(table, "ExponentialLR");
  add_schedule<OneCycleLR>(table, "OneCycleLR");
  add_schedule<ReduceLROnPlateau>(table, "ReduceLROnPlateau");
  add_schedule_chains(table);
}

}  // namespace

void add_builtin_classes(Registry& registry) {
  add_optimizers(registry);
  add_schedules(registry);

  registry.callbacks.add<BackboneFinetuning>("BackboneFinetuning");
  registry.callbacks.add<DeviceStats>("DeviceStats");
  registry.callbacks.add<EarlyStopping>("EarlyStopping");
  registry.callbacks.add<ExponentialMovingAverage>("ExponentialMovingAverage");
  registry.callbacks.add<GradientAccumulationScheduler>("GradientAccumulationScheduler");
  registry.callbacks.add<GradientNormMonitor>("GradientNormMonitor");
  registry.callbacks.add<LearningRateMonitor>("LearningRateMonitor");
  registry.callbacks.add<LossGuard>("LossGuard");
  registry.callbacks.add<ModelCheckpoint>("ModelCheckpoint");
  registry.callbacks.add<ModelSummary>("ModelSummary");
  registry.callbacks.add<PredictionWriter>("PredictionWriter");
  registry.callbacks.add<ProgressBar>("ProgressBar");
  registry.callbacks.add<StochasticWeightAveraging>("StochasticWeightAveraging");
  registry.callbacks.add<ThroughputMonitor>("ThroughputMonitor");
  registry.callbacks.add<Timer>("Timer");

  registry.data_modules.add<CsvData>("CsvData");
  registry.data_modules.add<IdxImageData>("IdxImageData");
  registry.data_modules.add<ImageFolderData>("ImageFolderData");
  registry.data_modules.add<NumpyData>("NumpyData");
  registry.data_modules.add<SafetensorsData>("SafetensorsData");
  registry.data_modules.add<TextData>("TextData");
  registry.data_modules.add<TokenData>("TokenData");

  registry.loggers.add<CSVLogger>("CSVLogger");
  registry.loggers.add<JSONLinesLogger>("JSONLinesLogger");
  registry.loggers.add<TensorBoardLogger>("TensorBoardLogger");
}

}  // namespace levin
