#include "trainer/data/text/document_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "trainer/core/error.h"

namespace levin {
namespace {

constexpr size_t kUsualRead = size_t{1} << 20;
constexpr size_t kLargestRead = size_t{1} << 30;

bool is_gzip_name(const std::filesystem::path& path) { return path.extension() == ".gz" || path.extension() == ".dz"; }

DocumentOptions checked(DocumentOptions options) {
  if (options.border == DocumentBorder::kSeparator && options.separator.empty()) {
    throw ConfigError("[DocumentReader] the separator of documents must not be empty.");
  }
  return options;
}

}  // namespace

DocumentOptions document_options(std::string_view border, const std::string& separator) {
  if (border == "line") return {.border = DocumentBorder::kLine};
  if (border == "separator") return {.border = DocumentBorder::kSeparator, .separator = separator};
  return {};
}

DocumentReader::DocumentReader(const std::filesystem::path& path, DocumentOptions options, FindCut find_cut,
                               size_t part_bytes)
    : options_(checked(std::move(options))),
      file_(path),
      find_cut_(std::move(find_cut)),
      part_bytes_(std::max<size_t>(part_bytes, 1)),
      next_cut_size_(part_bytes_) {
  // Without gzip's mark a file is taken for plain text.
  if (is_gzip_name(path) && !file_.is_compressed() && std::filesystem::file_size(path) > 0) {
    throw DataError(
        fmt::format("[DocumentReader] {} is damaged, or no gzip file as its name says: gzip's mark is not at "
                    "its beginning.",
                    path.string()));
  }
}

void DocumentReader::read_more() {
  buffer_.erase(0, begin_);
  buffer_offset_ += static_cast<int64_t>(begin_);
  begin_ = 0;
  const size_t kept = buffer_.size();
  // A document that is longer than that doubles what is read, so that the time stays linear.
  buffer_.resize(kept + std::clamp(kept, std::min(part_bytes_, kUsualRead), kLargestRead));
  const size_t got = file_.read_some(buffer_.data() + kept, buffer_.size() - kept);
  is_at_end_ = got < buffer_.size() - kept;
  buffer_.resize(kept + got);
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
  file_.seek(offset);
}

}  // namespace levin
