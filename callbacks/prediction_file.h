#pragma once

#include <filesystem>
#include <vector>

#include "trainer/core/batch.h"

namespace levin {

/// Writes predictions, batch after batch, into one file. The ending decides: .safetensors takes any shape; .csv has one
/// row a sample and one column a value, for leaves [B] and [B, C]. Leaves are named by their fields ("class"), list
/// items by their number, a bare tensor is "prediction". Errors: those of check_prediction_file; DataError if batches
/// differ in their fields, or a leaf does not fit a .csv; OutputError if the file cannot be written. The file has its
/// name once it is whole, and not before.
void write_predictions(const std::filesystem::path& file, const std::vector<Batch>& predictions);

/// Errors: ConfigError if the ending is another one, the folder is not there, or the file is a folder.
void check_prediction_file(const std::filesystem::path& file);

}  // namespace levin
