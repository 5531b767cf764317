#pragma once

#include <filesystem>
#include <vector>

#include "trainer/core/batch.h"

namespace levin {

/// Writes predictions, batch after batch, into one file. The ending decides: .safetensors takes any shape; .csv has one
/// row a sample and one column a value, for leaves [B] and [B, C]. Leaves are named by their fields ("class"), list
/// items by their number, a bare tensor is "prediction". Errors: ConfigError for another ending; DataError if batches
/// differ in their fields, or a leaf does not fit a .csv; OutputError if the file cannot be written.
void write_predictions(const std::filesystem::path& file, const std::vector<Batch>& predictions);

/// Errors: ConfigError if write_predictions could not write a file of this ending.
void check_prediction_file(const std::filesystem::path& file);

}  // namespace levin
