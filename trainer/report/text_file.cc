#include "trainer/report/text_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <iterator>
#include <system_error>

#include "trainer/core/error.h"

namespace levin {
namespace {

namespace fs = std::filesystem;

std::string last_reason() { return std::generic_category().message(errno); }

}  // namespace

std::string read_whole_file(const fs::path& file) {
  std::error_code error;
  // A stream opens a folder without complaint.
  if (fs::is_directory(file, error)) throw DataError(fmt::format("cannot read {}: it is a folder.", file.string()));
  errno = 0;
  std::ifstream in(file, std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(in), {});
  if (!in.is_open() || in.bad()) throw DataError(fmt::format("cannot read {}: {}.", file.string(), last_reason()));
  return text;
}

void replace_file(const fs::path& file, std::string_view text) {
  const fs::path temporary = fmt::format("{}.tmp.{}", file.string(), ::getpid());
  errno = 0;
  std::ofstream out(temporary, std::ios::binary | std::ios::trunc);
  out.write(text.data(), static_cast<std::streamsize>(text.size()));
  out.close();
  std::error_code error;
  std::string reason;
  if (!out) {
    reason = last_reason();
  } else if (fs::rename(temporary, file, error); error) {
    reason = error.message();
  }
  if (reason.empty()) return;
  fs::remove(temporary, error);
  throw OutputError(fmt::format("cannot write {}: {}.", file.string(), reason));
}

}  // namespace levin
