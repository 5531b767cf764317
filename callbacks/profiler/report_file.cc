#include "callbacks/profiler/report_file.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "trainer/core/error.h"

namespace levin {

void write_report(const std::string& owner, const std::filesystem::path& path, const std::string& text) {
  errno = 0;
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (file) return;
  throw OutputError(fmt::format("[{}] Cannot write {}: {}.", owner, path.string(),
                                errno == 0 ? "unknown reason" : std::strerror(errno)));
}

}  // namespace levin
