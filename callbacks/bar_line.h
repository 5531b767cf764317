#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "trainer/core/metrics.h"

namespace levin {

/// What one line of progress says.
struct BarLine {
  std::string label = {};                       ///< For example "Epoch 2/3".
  int64_t num_done = 0;                         ///< Batches, or what else is counted, done.
  std::optional<int64_t> total = std::nullopt;  ///< In all, if known.
  std::string unit = "it";                      ///< What is counted, for the rate: "it/s".
  double elapsed_s = 0.0;
  double rate = 0.0;      ///< Done in a second; 0: not known yet.
  bool is_final = false;  ///< No remaining time is shown.
  Metrics metrics = {};
};

/// What the terminal can show.
struct BarStyle {
  int64_t num_columns = 80;
  bool is_utf8 = false;
  bool has_colors = false;
};

/// The line for a terminal: label, bar, counts, times, metrics. At most num_columns - 1 wide, so that it never wraps:
/// first the bar shrinks, then metrics are left out from the last, then the bar, and at last the text is cut.
std::string format_bar_line(const BarLine& line, const BarStyle& style);

/// The same without a bar, of any width, for files and pipes.
std::string format_plain_line(const BarLine& line);

/// "00:12", "1:02:03".
std::string format_duration(double seconds);

}  // namespace levin
