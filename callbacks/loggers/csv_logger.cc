#include "callbacks/loggers/csv_logger.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <exception>
#include <utility>

#include "trainer/core/error.h"

namespace levin {
namespace {

constexpr size_t kNumFixedColumns = 2;  // step, epoch

std::string quote(const std::string& name) {
  if (name.find_first_of(",\"\r\n") == std::string::npos) return name;
  std::string quoted = "\"";
  for (const char c : name) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

std::string format_header(const std::vector<std::string>& columns) {
  std::string text;
  for (const std::string& column : columns) text += (text.empty() ? "" : ",") + quote(column);
  return text + "\n";
}

// Reads the first record into `columns`. Returns its length with the line end; 0 if the text ends within it.
size_t parse_header(std::string_view text, std::vector<std::string>& columns) {
  columns.assign(1, "");
  bool is_quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"' && is_quoted && text.substr(i + 1, 1) == "\"") {
      columns.back() += text[++i];
    } else if (c == '"') {
      is_quoted = !is_quoted;
    } else if (is_quoted) {
      columns.back() += c;
    } else if (c == ',') {
      columns.emplace_back();
    } else if (c == '\n') {
      return i + 1;
    } else if (c != '\r') {
      columns.back() += c;
    }
  }
  columns.clear();
  return 0;
}

// True if `text` begins as a log does, or would if a kill had not cut it.
bool may_be_log(std::string_view text) {
  constexpr std::string_view kStart = "step,epoch";
  if (text.substr(0, kStart.size()) != kStart.substr(0, text.size())) return false;
  return text.size() <= kStart.size() || std::string_view(",\r\n").find(text[kStart.size()]) != std::string_view::npos;
}

std::string format_value(double value) { return std::isnan(value) ? "nan" : fmt::format("{}", value); }

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

// Calls fn(line), without the line end, for each line of `text`.
template <class Fn>
void for_each_line(std::string_view text, const Fn& fn) {
  while (!text.empty()) {
    const size_t end = text.find('\n');
    fn(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
}

}  // namespace

CSVLogger::~CSVLogger() {
  try {
    write_pending();
  } catch (const std::exception&) {
    // Nobody is left to tell; a caller who must know calls flush().
  }
  close();
}

void CSVLogger::open(const std::filesystem::path& run_dir) {
  write_pending();
  close();
  path_ = run_dir / "metrics.csv";
  fd_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (fd_ < 0) fail("open");
  const std::string text = read_all();
  const size_t header_size = parse_header(text, columns_);
  if (!may_be_log(text)) {
    close();
    throw OutputError(
        fmt::format("[CSVLogger] {} is no log of metrics: its first columns are not \"step,epoch\". "
                    "Move it away, or use another run folder.",
                    path_.string()));
  }
  // A kill may have torn the header, or the last row.
  size_ = header_size == 0 ? 0 : static_cast<int64_t>(text.rfind('\n') + 1);
  if (size_ < static_cast<int64_t>(text.size()) && ::ftruncate(fd_, size_) != 0) fail("shorten");
}

void CSVLogger::log_metrics(const Metrics& metrics, int64_t step, int64_t epoch) {
  if (fd_ < 0) throw InternalError("[CSVLogger] log_metrics was called before open.");
  if (metrics.empty()) return;
  for (const char* fixed : {"step", "epoch"}) {
    if (!metrics.find(fixed)) continue;
    throw ConfigError(fmt::format(
        "[CSVLogger] A metric is called \"{}\", which is a column of its own. Log it under another name.", fixed));
  }
  if (joins_pending(metrics, step, epoch)) {
    pending_->metrics.set_all(metrics);
    return;
  }
  write_pending();
  pending_ = Row{step, epoch, metrics};
}

void CSVLogger::flush() { write_pending(); }

bool CSVLogger::joins_pending(const Metrics& metrics, int64_t step, int64_t epoch) const {
  return pending_ && pending_->step == step && pending_->epoch == epoch &&
         std::none_of(metrics.begin(), metrics.end(),
                      [&](const Metrics::Entry& e) { return pending_->metrics.find(e.first); });
}

// A row that could not be written stays pending, so that the next call tries again.
void CSVLogger::write_pending() {
  if (!pending_) return;
  add_columns(pending_->metrics);
  append(format_row(*pending_));
  pending_.reset();
}

std::string CSVLogger::format_row(const Row& row) const {
  std::string text = fmt::format("{},{}", row.step, row.epoch);
  for (size_t i = kNumFixedColumns; i < columns_.size(); ++i) {
    text += ',';
    if (const auto value = row.metrics.find(columns_[i])) text += format_value(*value);
  }
  return text + "\n";
}

void CSVLogger::add_columns(const Metrics& metrics) {
  std::vector<std::string> columns = columns_;
  if (columns.empty()) columns = {"step", "epoch"};
  for (const auto& [name, value] : metrics) {
    if (std::find(columns.begin(), columns.end(), name) == columns.end()) columns.push_back(name);
  }
  if (columns.size() == columns_.size()) return;
  if (size_ == 0) {
    append(format_header(columns));
  } else {
    const std::string old_text = read_all();
    std::vector<std::string> old_columns;
    const size_t header_size = parse_header(old_text, old_columns);
    const std::string empty_cells(columns.size() - old_columns.size(), ',');
    std::string text = format_header(columns);
    for_each_line(std::string_view(old_text).substr(header_size),
                  [&](std::string_view line) { text.append(line).append(empty_cells).append("\n"); });
    rewrite(text);
  }
  columns_ = std::move(columns);
}

void CSVLogger::drop_rows_from(int64_t first_step) {
  if (fd_ < 0) throw InternalError("[CSVLogger] drop_rows_from was called before open.");
  write_pending();
  const std::string old_text = read_all();
  std::vector<std::string> columns;
  const size_t header_size = parse_header(old_text, columns);
  std::string text = old_text.substr(0, header_size);
  for_each_line(std::string_view(old_text).substr(header_size), [&](std::string_view line) {
    int64_t step = 0;
    std::from_chars(line.data(), line.data() + line.size(), step);
    if (step < first_step) text.append(line).append("\n");
  });
  if (text.size() != old_text.size()) rewrite(text);
}

void CSVLogger::append(std::string_view text) {
  if (!write_all(fd_, text)) {
    const int error = errno;
    // The part that was written would tear the file; open() drops it too, should this fail.
    [[maybe_unused]] const int result = ::ftruncate(fd_, size_);
    errno = error;
    fail("write");
  }
  size_ += static_cast<int64_t>(text.size());
}

void CSVLogger::rewrite(const std::string& text) {
  const std::string temporary = path_.string() + ".tmp";
  const int fd = ::open(temporary.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
  if (fd < 0) fail("rewrite");
  if (!write_all(fd, text) || ::fsync(fd) != 0 || ::rename(temporary.c_str(), path_.c_str()) != 0) {
    const int error = errno;
    ::close(fd);
    ::unlink(temporary.c_str());
    errno = error;
    fail("rewrite");
  }
  close();
  fd_ = fd;
  size_ = static_cast<int64_t>(text.size());
}

std::string CSVLogger::read_all() const {
  struct stat status {};
  if (::fstat(fd_, &status) != 0) fail("read");
  std::string text(static_cast<size_t>(status.st_size), '\0');
  size_t size = 0;
  while (size < text.size()) {
    const ssize_t count = ::pread(fd_, text.data() + size, text.size() - size, static_cast<off_t>(size));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail("read");
    if (count == 0) break;
    size += static_cast<size_t>(count);
  }
  text.resize(size);
  return text;
}

void CSVLogger::close() noexcept {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

void CSVLogger::fail(const char* action) const {
  throw OutputError(fmt::format("[CSVLogger] Cannot {} {}: {}.", action, path_.string(), std::strerror(errno)));
}

}  // namespace levin
