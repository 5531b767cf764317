#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "trainer/report/run_data.h"

namespace levin {

/// The data of the report as JSON text that may stand in a <script> element: "<", ">" and "&" are written as \u
/// escapes, so that no text of a file can end the element. A curve has at most about `max_points` points; see
/// decimate().
std::string report_json(const std::vector<RunData>& runs, const std::string& written_at, size_t max_points);

}  // namespace levin
