#include "trainer/tuner/tuner_report.h"

#include <fmt/format.h>

namespace levin {
namespace {

ReportSection batch_size_section(const BatchSizeFinderResult& result) {
  ReportTable table{.columns = {"Batch size", "Fits", "Samples per second"}};
  for (const BatchSizeTrial& trial : result.trials) {
    table.rows.push_back({fmt::format("{}", trial.batch_size), trial.fits ? "yes" : "no",
                          trial.fits ? fmt::format("{:.0f}", trial.samples_per_second) : ""});
  }
  return {.title = "Batch-size finder",
          .text = fmt::format("The largest batch size with which training fits into memory: {}.", result.batch_size),
          .table = std::move(table)};
}

ReportSection learning_rate_section(const LearningRateFinderResult& result) {
  const std::string text =
      result.suggestion
          ? fmt::format("Suggested learning rate: {:.3g}, where the loss falls fastest.", *result.suggestion)
          : std::string("No suggestion: the loss does not fall clearly at any learning rate tried.");
  return {.title = "Learning-rate finder",
          .text = text,
          .curve = ReportCurve{.x_name = "learning rate",
                               .y_name = "loss (smoothed)",
                               .x = result.learning_rates,
                               .y = result.losses,
                               .is_log_x = true,
                               .marked_x = result.suggestion}};
}

}  // namespace

std::vector<ReportSection> report_sections(const TunerResult& result) {
  std::vector<ReportSection> sections;
  if (result.batch_size) sections.push_back(batch_size_section(*result.batch_size));
  if (result.learning_rate) sections.push_back(learning_rate_section(*result.learning_rate));
  return sections;
}

}  // namespace levin
