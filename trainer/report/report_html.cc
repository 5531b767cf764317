#include "trainer/report/report_html.h"

#include <fmt/format.h>

#include <array>
#include <string_view>
#include <utility>

#include "trainer/core/error.h"
#include "trainer/report/page_assets.h"
#include "trainer/report/report_json.h"

namespace levin {
namespace {

using Parts = std::array<std::pair<std::string_view, std::string>, 4>;

std::string escape_html(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '<') {
      escaped += "&lt;";
    } else if (c == '>') {
      escaped += "&gt;";
    } else if (c == '&') {
      escaped += "&amp;";
    } else if (c == '"') {
      escaped += "&quot;";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string page_title(const std::vector<RunData>& runs) {
  if (runs.size() == 1) return runs.front().name;
  return fmt::format("{} runs: {}, ...", runs.size(), runs.front().name);
}

/// Puts the parts into their {{places}}. What was put in is not searched again: it may hold anything.
std::string fill_in(std::string_view page, const Parts& parts) {
  std::string result;
  while (!page.empty()) {
    const size_t open = page.find("{{");
    result += page.substr(0, open);
    if (open == std::string_view::npos) break;
    const size_t close = page.find("}}", open);
    const std::string_view name = page.substr(open + 2, close - open - 2);
    bool is_known = false;
    for (const auto& [place, text] : parts) {
      if (place != name) continue;
      result += text;
      is_known = true;
    }
    if (!is_known) throw InternalError(fmt::format("[report] the page has an unknown place \"{}\".", name));
    page.remove_prefix(close + 2);
  }
  return result;
}

}  // namespace

std::string report_html(const std::vector<RunData>& runs, const ReportOptions& options) {
  if (runs.empty()) throw ConfigError("[report] a report needs at least one run.");
  const std::string written_at = options.written_at.empty() ? utc_time() : options.written_at;
  const Parts parts = {{{"title", escape_html(page_title(runs))},
                        {"style", page_style()},
                        {"data", report_json(runs, written_at, options.max_points)},
                        {"script", page_script()}}};
  return fill_in(page_html(), parts);
}

}  // namespace levin
