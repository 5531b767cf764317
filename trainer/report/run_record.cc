#include "trainer/report/run_record.h"

#include <fmt/format.h>

#include <ctime>

#include "trainer/core/error.h"
#include "trainer/report/run_record_json.h"
#include "trainer/report/text_file.h"

namespace levin {
namespace {

constexpr const char* kFileName = "run.json";

}  // namespace

std::string run_status_name(RunStatus status) {
  switch (status) {
    case RunStatus::kRunning: return "running";
    case RunStatus::kFinished: return "finished";
    case RunStatus::kStoppedEarly: return "stopped early";
    case RunStatus::kInterrupted: return "interrupted";
    case RunStatus::kFailed: return "failed";
  }
  throw InternalError("[RunRecord] a status without a name.");
}

std::string utc_time(std::chrono::system_clock::time_point time) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday,
                     parts.tm_hour, parts.tm_min, parts.tm_sec);
}

void write_run_record(const std::filesystem::path& run_dir, const RunRecord& record) {
  using Json = nlohmann::ordered_json;
  const std::string text = run_record_to_json(record).dump(1, ' ', false, Json::error_handler_t::replace);
  replace_file(run_dir / kFileName, text + "\n");
}

std::optional<RunRecord> read_run_record(const std::filesystem::path& run_dir) {
  const std::filesystem::path file = run_dir / kFileName;
  std::error_code error;
  if (!std::filesystem::exists(file, error)) return std::nullopt;
  nlohmann::ordered_json json;
  try {
    json = nlohmann::ordered_json::parse(read_whole_file(file));
  } catch (const nlohmann::json::exception& failure) {
    throw DataError(fmt::format("[RunRecord] {} is no JSON: {}.", file.string(), failure.what()));
  }
  return run_record_from_json(json, file.string());
}

}  // namespace levin
