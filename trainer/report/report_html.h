#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "trainer/report/run_data.h"

namespace levin {

/// How a report is made.
struct ReportOptions {
  /// Shown at the end of the page, as of utc_time(). "" for now.
  std::string written_at = {};
  /// Points a curve keeps, about; the extremes are among them. At least 10.
  size_t max_points = 4000;
};

/// One HTML page with everything in it: it loads nothing, and forbids itself to. Several runs are overlaid. What comes
/// from the runs is shown as text, whatever it holds. Errors: ConfigError if there is no run.
std::string report_html(const std::vector<RunData>& runs, const ReportOptions& options = {});

}  // namespace levin
