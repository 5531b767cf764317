#include "trainer/data/tables/csv_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "trainer/core/error.h"

namespace levin {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 20;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

}  // namespace

CsvFile::CsvFile(const std::filesystem::path& path, char separator) : file_(path), separator_(separator) {
  if (separator == '"' || separator == '\n' || separator == '\r') {
    throw ConfigError("[CsvFile] the separator must not be a quote or a line end.");
  }
  buffer_.resize(kBufferBytes);
  fill();
  if (std::string_view(buffer_.data(), end_).starts_with(kByteOrderMark)) begin_ = kByteOrderMark.size();
}

bool CsvFile::fill() {
  if (is_at_end_) return false;
  std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  if (end_ > buffer_.size() / 2) buffer_.resize(2 * buffer_.size());  // a long record
  const size_t wanted = buffer_.size() - end_;
  const size_t got = file_.read_some(buffer_.data() + end_, wanted);
  end_ += got;
  is_at_end_ = got < wanted;
  return true;
}

void CsvFile::refuse(size_t position, const char* problem) const {
  const int64_t line =
      next_line_ + std::count(buffer_.begin() + static_cast<std::ptrdiff_t>(begin_),
                              buffer_.begin() + static_cast<std::ptrdiff_t>(std::min(position, end_)), '\n');
  throw DataError(
      fmt::format("[CsvFile] {}, line {}, field {}: {}.", path().string(), line, spans_.size() + 1, problem));
}

bool CsvFile::next(std::vector<std::string_view>& fields) {
  fields.clear();
  while (true) {
    while (begin_ < end_ &&
           (buffer_[begin_] == '\n' || (buffer_[begin_] == '\r' && begin_ + 1 < end_ && buffer_[begin_ + 1] == '\n'))) {
      begin_ += buffer_[begin_] == '\r' ? 2 : 1;
      ++next_line_;
    }
    if (begin_ == end_) {
      if (!fill()) return false;
      if (begin_ == end_) return false;
      continue;
    }
    if (scan_record()) break;
    fill();  // scan_record() needs no more at the end of the file
  }
  for (const Span& span : spans_) {
    fields.push_back(span.has_doubled_quotes ? unquote(span)
                                             : std::string_view(buffer_.data() + span.begin, span.end - span.begin));
  }
  return true;
}

bool CsvFile::scan_record() {
  spans_.clear();
  size_t position = begin_;
  while (true) {
    const bool is_quoted = position < end_ && buffer_[position] == '"';
    const Scan scan = is_quoted ? scan_quoted(position) : scan_field(position);
    if (scan == Scan::kNeedsMore) return false;
    if (scan == Scan::kRecord) break;
  }
  line_ = next_line_;
  next_line_ += std::count(buffer_.begin() + static_cast<std::ptrdiff_t>(begin_),
                           buffer_.begin() + static_cast<std::ptrdiff_t>(position), '\n');
  begin_ = position;
  return true;
}

CsvFile::Scan CsvFile::scan_field(size_t& position) {
  const size_t begin = position;
  const char* data = buffer_.data();
  size_t at = position;
  while (at < end_ && data[at] != separator_ && data[at] != '\n') ++at;
  position = at;
  return end_field(position, {.begin = begin, .end = at});
}

CsvFile::Scan CsvFile::scan_quoted(size_t& position) {
  const size_t opening = position;
  Span span{.begin = opening + 1};
  size_t at = span.begin;
  while (true) {
    const void* found = at < end_ ? std::memchr(buffer_.data() + at, '"', end_ - at) : nullptr;
    if (found == nullptr) {
      if (is_at_end_) refuse(opening, "the quote at its beginning is never closed");
      return Scan::kNeedsMore;
    }
    span.end = static_cast<size_t>(static_cast<const char*>(found) - buffer_.data());
    if (span.end + 1 == end_ && !is_at_end_) return Scan::kNeedsMore;  // the quote may be the first of two
    if (span.end + 1 == end_ || buffer_[span.end + 1] != '"') break;
    span.has_doubled_quotes = true;
    at = span.end + 2;
  }
  position = span.end + 1;
  const auto is_end_of_line = [&] {
    return buffer_[position] == '\n' ||
           (buffer_[position] == '\r' && (position + 1 == end_ || buffer_[position + 1] == '\n'));
  };
  if (position < end_ && buffer_[position] != separator_ && !is_end_of_line()) {
    refuse(position, "there must be a separator or the end of the line after the closing quote");
  }
  if (position < end_ && buffer_[position] == '\r') {
    if (position + 1 == end_ && !is_at_end_) return Scan::kNeedsMore;
    position = std::min(position + 1, end_);
  }
  return end_field(position, span);
}

CsvFile::Scan CsvFile::end_field(size_t& position, Span span) {
  if (position == end_) {
    if (!is_at_end_) return Scan::kNeedsMore;
    spans_.push_back(span);
    return Scan::kRecord;
  }
  const bool is_record = buffer_[position] == '\n';
  if (is_record && span.end == position && span.end > span.begin && buffer_[span.end - 1] == '\r') --span.end;
  spans_.push_back(span);
  ++position;
  return is_record ? Scan::kRecord : Scan::kField;
}

std::string_view CsvFile::unquote(const Span& span) {
  char* out = buffer_.data() + span.begin;
  for (size_t at = span.begin; at < span.end; ++at) {
    *out++ = buffer_[at];
    if (buffer_[at] == '"') ++at;
  }
  return {buffer_.data() + span.begin, static_cast<size_t>(out - buffer_.data()) - span.begin};
}

}  // namespace levin
