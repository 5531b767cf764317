#pragma once

#include <vector>

#include "trainer/report/run_record.h"
#include "trainer/tuner/tuner_options.h"

namespace levin {

/// The sections of the report: the loss over the learning rates with the suggestion, and the sizes that were tried.
std::vector<ReportSection> report_sections(const TunerResult& result);

}  // namespace levin
