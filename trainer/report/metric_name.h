#pragma once

#include <string>
#include <string_view>

namespace levin {

/// Where a metric belongs in the report.
enum class MetricGroup { kMetric, kLearningRate, kThroughput };

/// Which values of a metric are good.
enum class Better { kUnknown, kLower, kHigher };

/// A metric's name, taken apart: "train_loss_step" is the quantity "loss" of the stage "train", one value a step.
struct MetricName {
  std::string quantity = {};  ///< Never empty. What shares a chart has the same.
  std::string stage = {};     ///< "train", "val", "test", or "".
  std::string interval = {};  ///< "step", "epoch", or "".
  MetricGroup group = MetricGroup::kMetric;
};

/// Takes a name apart. The stage stands at the front or at the end (train_loss, val/acc, loss_val; also "valid",
/// "validation", "eval", "training"), "_step" and "_epoch" behind it. Columns of a learning-rate monitor ("lr-AdamW")
/// share the quantity "learning rate"; those of their momentum keep their own.
MetricName parse_metric_name(std::string_view name);

/// Which values of a metric are good, by the words in its name: a loss or an error is better low, an accuracy high.
Better better_values(std::string_view name);

}  // namespace levin
