#pragma once

#include "trainer/core/lightning_module.h"
#include "trainer/report/run_record.h"
#include "trainer/run.h"

namespace levin {

/// Keeps run.json of a run up to date, and writes its report at the end. Without a run folder, or on other ranks than
/// 0, it does nothing. Errors of all functions: OutputError if a file cannot be written.
///
/// At the start of a fit, when its folder is there.
void start_record(Run& run, const LightningModule& module);

/// Hands the hyper-parameters of the record to the loggers, on rank 0, once in a run.
void log_hyperparameters(Run& run);
/// At the end of an epoch. times: where the time went so far; may be empty.
void update_record(Run& run, const std::vector<TimeSection>& times);
/// At the end of a fit. error: what ended it, "" if nothing did.
void end_record(Run& run, RunStatus status, const std::string& error);

}  // namespace levin
