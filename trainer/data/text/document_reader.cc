#include "trainer/data/text/document_reader.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "trainer/core/error.h"

namespace levin {
namespace {

constexpr unsigned kBufferBytes = 1u << 18;
constexpr size_t kUsualRead = size_t{1} << 20;
constexpr size_t kLargestRead = size_t{1} << 30;  // gzread takes an unsigned int

gzFile handle(void* file) { return static_cast<gzFile>(file); }

bool is_gzip_name(const std::filesystem::path& path) { return path.extension() == ".gz" || path.extension() == ".dz"; }

}  // namespace

DocumentReader::DocumentReader(const std::filesystem::path& path, DocumentOptions options, FindCut find_cut,
                               size_t part_bytes)
    : path_(path),
      options_(std::move(options)),
      find_cut_(std::move(find_cut)),
      part_bytes_(std::max<size_t>(part_bytes, 1)),
      file_(nullptr),
      next_cut_size_(part_bytes_) {
  if (options_.border == DocumentBorder::kSeparator && options_.separator.empty()) {
    throw ConfigError("[DocumentReader] the separator of documents must not be empty.");
  }
  if (std::filesystem::is_directory(path)) {
    throw DataError(
        fmt::format("[DocumentReader] {} is a folder, not a file. Name the text files in it.", path.string()));
  }
  errno = 0;
  file_ = gzopen(path.c_str(), "rb");
  if (file_ == nullptr) {
    throw DataError(fmt::format("[DocumentReader] cannot open {}: {}.", path.string(), std::strerror(errno)));
  }
  gzbuffer(handle(file_), kBufferBytes);
  // zlib takes a file without gzip's mark for plain text.
  if (is_gzip_name(path) && gzdirect(handle(file_)) == 1 && std::filesystem::file_size(path) > 0) {
    gzclose(handle(file_));
    throw DataError(
        fmt::format("[DocumentReader] {} is damaged, or no gzip file as its name says: gzip's mark is not at "
                    "its beginning.",
                    path.string()));
  }
}

DocumentReader::~DocumentReader() { gzclose(handle(file_)); }

void DocumentReader::throw_damaged() const {
  int code = Z_OK;
  std::string reason = gzerror(handle(file_), &code);
  const std::string prefix = path_.string() + ": ";  // zlib repeats the path
  if (reason.starts_with(prefix)) reason.erase(0, prefix.size());
  if (code == Z_ERRNO) reason = std::strerror(errno);
  throw DataError(fmt::format("[DocumentReader] {} is cut off, damaged or cannot be read, after {} bytes of text: {}.",
                              path_.string(), buffer_offset_ + static_cast<int64_t>(buffer_.size()), reason));
}

void DocumentReader::read_more() {
  buffer_.erase(0, begin_);
  buffer_offset_ += static_cast<int64_t>(begin_);
  begin_ = 0;
  const size_t kept = buffer_.size();
  // A document that is longer than that doubles what is read, so that the time stays linear.
  buffer_.resize(kept + std::clamp(kept, std::min(part_bytes_, kUsualRead), kLargestRead));
  const int got = gzread(handle(file_), buffer_.data() + kept, static_cast<unsigned>(buffer_.size() - kept));
  is_at_end_ = got < static_cast<int>(buffer_.size() - kept);
  buffer_.resize(kept + static_cast<size_t>(std::max(got, 0)));
  // At a cut within gzip's trailer zlib reports no bytes as at a whole end, but keeps an error.
  int code = Z_OK;
  gzerror(handle(file_), &code);
  if (got < 0 || (code != Z_OK && code != Z_STREAM_END)) throw_damaged();
}

std::optional<DocumentReader::Border> DocumentReader::find_border() {
  if (options_.border == DocumentBorder::kFile) return std::nullopt;
  const bool is_line = options_.border == DocumentBorder::kLine;
  const std::string_view text = rest();
  const std::string_view mark = is_line ? std::string_view("\n") : options_.separator;
  const size_t found = text.find(mark, num_searched_);
  if (found == std::string_view::npos) {
    num_searched_ = text.size() - std::min(text.size(), mark.size() - 1);
    return std::nullopt;
  }
  const bool has_return = is_line && found > 0 && text[found - 1] == '\r';
  return Border{found - (has_return ? 1 : 0), found + mark.size()};
}

std::optional<size_t> DocumentReader::find_part_end() {
  if (!find_cut_ || rest().size() < next_cut_size_) return std::nullopt;
  // A separator may have begun in what is held back, or a "\r" belong to the line's end.
  const size_t held_back = options_.border == DocumentBorder::kFile   ? 0
                           : options_.border == DocumentBorder::kLine ? 1
                                                                      : options_.separator.size() - 1;
  const std::string_view text = rest().substr(0, rest().size() - std::min(rest().size(), held_back));
  const size_t cut = find_cut_(text);
  if (cut > 0) return cut;
  next_cut_size_ = 2 * rest().size();
  return std::nullopt;
}

DocumentPart DocumentReader::take(size_t size, size_t next, bool ends_document) {
  const DocumentPart part = {rest().substr(0, size), ends_document};
  begin_ += next;
  num_searched_ = 0;
  next_cut_size_ = part_bytes_;
  is_in_document_ = !ends_document;
  return part;
}

std::optional<DocumentPart> DocumentReader::next() {
  while (true) {
    if (const auto border = find_border()) {
      const bool has_text = border->end > 0 || is_in_document_;
      const DocumentPart part = take(border->end, border->next, /*ends_document=*/true);
      if (has_text) return part;
    } else if (is_at_end_) {
      if (rest().empty() && !is_in_document_) return std::nullopt;
      return take(rest().size(), rest().size(), /*ends_document=*/true);
    } else if (const auto size = find_part_end()) {
      return take(*size, *size, /*ends_document=*/false);
    } else {
      read_more();
    }
  }
}

void DocumentReader::seek(int64_t offset) {
  buffer_.clear();
  buffer_offset_ = offset;
  begin_ = num_searched_ = 0;
  next_cut_size_ = part_bytes_;
  is_at_end_ = is_in_document_ = false;
  if (gzseek(handle(file_), offset, SEEK_SET) < 0) throw_damaged();
}

int64_t DocumentReader::disk_bytes() const { return std::max<int64_t>(0, gzoffset(handle(file_))); }

}  // namespace levin
