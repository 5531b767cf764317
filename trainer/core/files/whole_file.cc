#include "trainer/core/files/whole_file.h"

#include <stdio.h>

#include <cerrno>
#include <system_error>

#include "trainer/core/files/posix_file.h"

namespace levin {
namespace fs = std::filesystem;

void write_whole_file(const fs::path& file, const std::function<void(FileWriter&)>& write) {
  const fs::path temporary = file.parent_path() / ("." + file.filename().string() + ".tmp");
  try {
    FileWriter writer(temporary);
    write(writer);
    writer.finish();
    if (::rename(temporary.c_str(), file.c_str()) != 0) throw_io_error("rename to its final name", temporary, errno);
  } catch (...) {
    std::error_code ignored;
    fs::remove(temporary, ignored);
    throw;
  }
  sync_folder(file.has_parent_path() ? file.parent_path() : ".");
}

}  // namespace levin
