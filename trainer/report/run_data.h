#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "trainer/report/metrics_file.h"
#include "trainer/report/run_record.h"

namespace levin {

/// The steps of one epoch, as far as the metrics tell.
struct EpochSpan {
  int64_t epoch = 0;
  int64_t first_step = 0;
  int64_t num_steps = 1;
  bool operator==(const EpochSpan&) const = default;
};

/// What a run folder holds, as the report needs it.
struct RunData {
  std::string name = {};                           ///< "<experiment>/version_<n>": the last two folders of the path.
  std::filesystem::path folder = {};               ///< Absolute.
  std::optional<RunRecord> record = std::nullopt;  ///< run.json, if it is there and whole.
  std::vector<MetricSeries> metrics = {};
  std::vector<EpochSpan> epochs = {};  ///< In order; the last is as long as the one before if the run ended within it.
  std::string config = {};             ///< The text of config.yaml; "" if there is none.
  std::vector<std::pair<std::string, std::string>> settings =
      {};                               ///< Its scalars: "callbacks[0].class", "EarlyStopping".
  std::vector<std::string> notes = {};  ///< What is missing or damaged, one sentence each; shown to the reader.
};

/// True if the folder holds run.json, metrics.csv or config.yaml.
bool is_run_folder(const std::filesystem::path& folder);

/// Reads a run folder. What is missing or damaged becomes a note, so that the rest can be shown.
/// Errors: ConfigError if the folder holds none of the three files; it names them.
RunData read_run(const std::filesystem::path& folder);

}  // namespace levin
