#include "callbacks/console.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdlib>
#include <string>

namespace levin {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool environment_is_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    std::string locale = environment(name);
    if (locale.empty()) continue;
    std::transform(locale.begin(), locale.end(), locale.begin(), [](unsigned char c) { return std::tolower(c); });
    return locale.find("utf-8") != std::string::npos || locale.find("utf8") != std::string::npos;
  }
  return false;
}

}  // namespace

StreamConsole::StreamConsole(std::FILE* stream)
    : stream_(stream),
      is_terminal_(isatty(fileno(stream)) == 1 && environment("TERM") != "dumb"),
      has_colors_(is_terminal_ && environment("NO_COLOR").empty()),
      is_utf8_(environment_is_utf8()) {}

void StreamConsole::write(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stream_);
  std::fflush(stream_);
}

int64_t StreamConsole::num_columns() const {
  winsize size{};
  if (ioctl(fileno(stream_), TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

double StreamConsole::now_s() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::shared_ptr<Console> stderr_console() { return std::make_shared<StreamConsole>(stderr); }

}  // namespace levin
