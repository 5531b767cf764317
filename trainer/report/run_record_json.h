#pragma once

#include <nlohmann/json.hpp>

#include <string>

#include "trainer/report/run_record.h"

namespace levin {

/// A number, or "nan", "inf" or "-inf", for which JSON has no number.
nlohmann::ordered_json json_number(double value);

/// Only what is known; see RunRecord. Errors: ConfigError if a curve's x and y have different lengths.
nlohmann::ordered_json run_record_to_json(const RunRecord& record);

/// The opposite. Errors: DataError if a field has the wrong type; `source` names the file.
RunRecord run_record_from_json(const nlohmann::ordered_json& json, const std::string& source);

}  // namespace levin
