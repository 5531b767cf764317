#include "callbacks/profiler/simple_profiler.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "callbacks/profiler/cuda_devices.h"
#include "callbacks/profiler/report_file.h"
#include "callbacks/profiler/text_table.h"
#include "callbacks/profiler/tick_clock.h"

namespace levin {
namespace {

double to_seconds(int64_t nanoseconds) { return static_cast<double>(nanoseconds) * 1e-9; }

std::vector<int> by_time(const SectionTotals& totals) {
  std::vector<int> order(totals.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return totals[a].ticks > totals[b].ticks; });
  return order;
}

// How often and how long a section was open means nothing for the loop, which is what is left.
std::vector<std::string> format_row(int section, const SectionTotal& rest, const SectionTotal& first, double whole,
                                    double num_batches) {
  const auto ticks = static_cast<double>(rest.ticks);
  const bool is_loop = section == kLoop;
  return {std::string(name_of(section)),
          fmt::format("{:.3f}", ticks * 1e-9),
          fmt::format("{:.1f} %", whole > 0 ? 100.0 * ticks / whole : 0.0),
          fmt::format("{:.1f}", ticks * 1e-3 / num_batches),
          is_loop ? "" : fmt::format("{}", rest.count),
          is_loop ? "" : fmt::format("{:.1f}", static_cast<double>(rest.longest) * 1e-3),
          fmt::format("{:.3f}", static_cast<double>(first.ticks) * 1e-6)};
}

std::string format_sections(const SectionTotals& first, const SectionTotals& rest, int64_t num_batches) {
  const auto whole = static_cast<double>(sum_of_ticks(rest));
  const double batches = static_cast<double>(std::max<int64_t>(num_batches - 1, 1));
  std::vector<std::vector<std::string>> rows = {
      {"section", "total s", "share", "us/batch", "calls", "longest us", "first ms"}};
  for (const int i : by_time(rest)) {
    const bool is_used = rest[i].ticks != 0 || rest[i].count != 0 || first[i].ticks != 0 || first[i].count != 0;
    if (is_used) rows.push_back(format_row(i, rest[i], first[i], whole, batches));
  }
  SectionTotal all_rest;
  SectionTotal all_first;
  all_rest.ticks = sum_of_ticks(rest);
  all_first.ticks = sum_of_ticks(first);
  rows.push_back(format_row(kLoop, all_rest, all_first, whole, batches));
  rows.back()[0] = "all";
  return format_table(rows);
}

std::string format_heading(const SectionTotals& first, const SectionTotals& rest, int64_t num_batches) {
  if (num_batches == 0)
    return fmt::format("Profile: no batch was done in {:.3f} s.\n", to_seconds(sum_of_ticks(first)));
  std::string text = fmt::format("Profile of {} {}. The first took {:.3f} s, with what came before it.\n", num_batches,
                                 num_batches == 1 ? "batch" : "batches", to_seconds(sum_of_ticks(first)));
  const double seconds = to_seconds(sum_of_ticks(rest));
  if (num_batches == 1 || seconds <= 0) return text;
  const double validation = to_seconds(rest[static_cast<int>(Section::kValidation)].ticks);
  const auto batches = static_cast<double>(num_batches - 1);
  text += fmt::format("The other {} took {:.3f} s: {:.1f} batches/s", num_batches - 1, seconds, batches / seconds);
  if (validation > 0 && validation < seconds) {
    text += fmt::format(", {:.1f} batches/s without validation", batches / (seconds - validation));
  }
  return text + ".\n";
}

}  // namespace

SimpleProfiler::SimpleProfiler() : SimpleProfiler(Options{}) {}

SimpleProfiler::SimpleProfiler(const Options& options)
    : SimpleProfiler(options, {steady_nanoseconds, synchronize_cuda_devices}) {}

SimpleProfiler::SimpleProfiler(const Options& options, Hooks hooks) : options_(options), hooks_(std::move(hooks)) {}

void SimpleProfiler::start(const std::filesystem::path& run_dir) {
  run_dir_ = run_dir;
  report_.clear();
  num_batches_ = 0;
  first_ = {};
  has_synchronized_ = false;
  is_running_ = true;
  tally_.start(synchronized_now());
}

void SimpleProfiler::end_batch() {
  if (++num_batches_ == 1) first_ = tally_.take(synchronized_now());
}

// Does not wait for the device: after an error there, that would throw once more.
void SimpleProfiler::stop() {
  if (!is_running_) return;
  is_running_ = false;
  SectionTotals rest = tally_.take(hooks_.nanoseconds());
  if (num_batches_ == 0) std::swap(first_, rest);
  report_ = format_heading(first_, rest, num_batches_) + "\n" + format_sections(first_, rest, num_batches_);
  if (has_synchronized_) {
    report_ += "\nThe device was waited for at each border of a section; without a profiler the fit is faster.\n";
  }
  if (!run_dir_.empty()) write_report("SimpleProfiler", run_dir_ / "profile.txt", report_);
}

}  // namespace levin
