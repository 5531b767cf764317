#include "trainer/core/files/link.h"

#include <stdio.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "trainer/core/files/posix_file.h"

namespace levin {
namespace fs = std::filesystem;

void replace_link(const fs::path& link, const std::string& target) {
  const fs::path temporary = link.parent_path() / ("." + link.filename().string() + ".tmp");
  std::error_code ignored;
  fs::remove(temporary, ignored);
  if (::symlink(target.c_str(), temporary.c_str()) != 0) throw_io_error("make the link", temporary, errno);
  if (::rename(temporary.c_str(), link.c_str()) != 0) {
    const int error_number = errno;
    fs::remove(temporary, ignored);
    throw_io_error("replace the link", link, error_number);
  }
  sync_folder(link.has_parent_path() ? link.parent_path() : ".");
}

}  // namespace levin
