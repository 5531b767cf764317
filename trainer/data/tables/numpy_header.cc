#include "trainer/data/tables/numpy_header.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <utility>

#include "trainer/core/error.h"

namespace levin {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kVersionBytes = 2;
constexpr size_t kMaxDims = 64;

[[noreturn]] void refuse(const std::filesystem::path& path, const std::string& problem) {
  throw DataError(fmt::format("[read_numpy] {}: {}.", path.string(), problem));
}

/// Text from the file for an error: short, and printable.
std::string quote(std::string_view text) {
  constexpr size_t kLongest = 60;
  std::string quoted;
  for (const char c : text.substr(0, kLongest)) quoted += c >= ' ' && c <= '~' ? c : '?';
  return "\"" + quoted + (text.size() > kLongest ? "...\"" : "\"");
}

std::optional<at::ScalarType> find_dtype(std::string_view kind_and_size) {
  static const std::vector<std::pair<std::string_view, at::ScalarType>> dtypes = {
      {"b1", at::kBool},  {"i1", at::kChar},   {"i2", at::kShort},        {"i4", at::kInt},           {"i8", at::kLong},
      {"u1", at::kByte},  {"u2", at::kUInt16}, {"u4", at::kUInt32},       {"u8", at::kUInt64},        {"f2", at::kHalf},
      {"f4", at::kFloat}, {"f8", at::kDouble}, {"c8", at::kComplexFloat}, {"c16", at::kComplexDouble}};
  const auto found = std::ranges::find(dtypes, kind_and_size, [](const auto& entry) { return entry.first; });
  return found == dtypes.end() ? std::nullopt : std::optional(found->second);
}

/// Reads the dictionary of the header: the literal of a Python dict with three entries, of which none is nested. Only
/// what NumPy writes is understood, nothing is evaluated.
class DictParser {
 public:
  DictParser(std::string_view text, const std::filesystem::path& path) : text_(text), path_(path) {}

  NumpyHeader parse() {
    NumpyHeader header;
    std::vector<std::string> keys;
    expect('{');
    while (peek() != '}') {
      keys.push_back(parse_string("a key"));
      expect(':');
      parse_value(keys.back(), header);
      if (peek() == ',')
        ++position_;
      else
        break;
    }
    expect('}');
    skip_space();
    if (position_ != text_.size()) refuse(path_, "the header has more text after its dictionary: " + quote(rest()));
    std::ranges::sort(keys);
    if (keys != std::vector<std::string>{"descr", "fortran_order", "shape"}) {
      refuse(path_, fmt::format("the header must have the keys descr, fortran_order and shape, got {}",
                                quote(fmt::format("{}", fmt::join(keys, ", ")))));
    }
    return header;
  }

 private:
  void parse_value(const std::string& key, NumpyHeader& header) {
    if (key == "descr") {
      parse_descr(header);
    } else if (key == "fortran_order") {
      header.is_fortran_order = parse_bool();
    } else if (key == "shape") {
      header.shape = parse_shape();
    } else {
      refuse(path_, "the header has an unknown key " + quote(key));
    }
  }

  void parse_descr(NumpyHeader& header) {
    if (peek() == '[') {
      refuse(path_, "structured arrays are not supported: save each field as an array of its own");
    }
    const std::string descr = parse_string("descr");
    const char order = descr.empty() ? '\0' : descr.front();
    if (std::string_view("<>|=").find(order) == std::string_view::npos || order == '\0') {
      refuse(path_, "descr must begin with a byte order <, > or |, got " + quote(descr));
    }
    const std::string_view type = std::string_view(descr).substr(1);
    if (type.starts_with('O')) {
      refuse(path_, "object arrays are not supported, since reading them runs code: save an array of numbers");
    }
    const std::optional<at::ScalarType> dtype = find_dtype(type);
    if (!dtype) {
      refuse(path_, fmt::format("the elements must be bool, integers of 8 to 64 bits, floats of 16 to 64, or complex "
                                "of 64 or 128 bits, got {}",
                                quote(descr)));
    }
    header.dtype = *dtype;
    header.is_big_endian = order == '>' && c10::elementSize(*dtype) > 1;
  }

  bool parse_bool() {
    skip_space();
    for (const auto& [word, value] : {std::pair(std::string_view("True"), true), {"False", false}}) {
      if (rest().starts_with(word)) {
        position_ += word.size();
        return value;
      }
    }
    refuse(path_, "fortran_order must be True or False, got " + quote(rest()));
  }

  std::vector<int64_t> parse_shape() {
    std::vector<int64_t> shape;
    expect('(');
    while (peek() != ')') {
      shape.push_back(parse_size());
      if (peek() == ',')
        ++position_;
      else
        break;
    }
    expect(')');
    if (shape.size() > kMaxDims) refuse(path_, fmt::format("{} dimensions, more than {}", shape.size(), kMaxDims));
    return shape;
  }

  int64_t parse_size() {
    skip_space();
    int64_t size = 0;
    const auto [end, error] = std::from_chars(text_.data() + position_, text_.data() + text_.size(), size);
    if (error != std::errc() || size < 0) {
      refuse(path_, "shape must hold integers from 0 to 2^63 - 1, got " + quote(rest()));
    }
    position_ = static_cast<size_t>(end - text_.data());
    if (position_ < text_.size() && text_[position_] == 'L') ++position_;  // of Python 2
    return size;
  }

  std::string parse_string(const char* what) {
    const char mark = peek();
    const size_t end = mark == '\'' || mark == '"' ? text_.find(mark, position_ + 1) : std::string_view::npos;
    if (end == std::string_view::npos) refuse(path_, fmt::format("{} must be a text, got {}", what, quote(rest())));
    const std::string_view content = text_.substr(position_ + 1, end - position_ - 1);
    if (content.find('\\') != std::string_view::npos) {
      refuse(path_, fmt::format("{} has an escape: {}", what, quote(content)));
    }
    position_ = end + 1;
    return std::string(content);
  }

  void expect(char c) {
    if (peek() != c) refuse(path_, fmt::format("the header must have '{}' where it has {}", c, quote(rest())));
    ++position_;
  }

  /// The next character that is no space; '\0' at the end.
  char peek() {
    skip_space();
    return position_ < text_.size() ? text_[position_] : '\0';
  }
  void skip_space() { position_ = std::min(text_.find_first_not_of(" \t\n\r", position_), text_.size()); }
  std::string_view rest() const { return text_.substr(position_); }

  std::string_view text_;
  const std::filesystem::path& path_;
  size_t position_ = 0;
};

/// Where the dictionary stands: its first byte, and its length.
std::pair<size_t, size_t> find_dictionary(std::string_view bytes, const std::filesystem::path& path) {
  if (!bytes.starts_with(kMagic)) {
    refuse(path, "it is not a .npy file, which begins with \\x93NUMPY, but with " + quote(bytes.substr(0, 8)));
  }
  const size_t length_begin = kMagic.size() + kVersionBytes;
  if (bytes.size() < length_begin) refuse(path, "the file ends within the version of its format");
  const int major = static_cast<unsigned char>(bytes[kMagic.size()]);
  const int minor = static_cast<unsigned char>(bytes[kMagic.size() + 1]);
  if (major < 1 || major > 3 || minor != 0) {
    refuse(path, fmt::format("the version of the format must be 1.0, 2.0 or 3.0, got {}.{}", major, minor));
  }
  const size_t length_bytes = major == 1 ? 2 : 4;
  const size_t begin = length_begin + length_bytes;
  if (bytes.size() < begin) refuse(path, "the file ends within the length of its header");
  size_t length = 0;
  for (size_t i = 0; i < length_bytes; ++i) {
    length |= size_t{static_cast<unsigned char>(bytes[length_begin + i])} << (8 * i);
  }
  if (length > bytes.size() - begin) {
    refuse(path,
           fmt::format("the header should have {} bytes, but the file ends after {}", length, bytes.size() - begin));
  }
  return {begin, length};
}

/// Size of the data in bytes. An empty dimension counts as 1 for the check, because LibTorch computes strides so.
uint64_t compute_data_size(const NumpyHeader& header, const std::filesystem::path& path) {
  auto num_bytes = static_cast<int64_t>(c10::elementSize(header.dtype));
  bool is_empty = false;
  for (const int64_t size : header.shape) {
    is_empty = is_empty || size == 0;
    if (__builtin_mul_overflow(num_bytes, std::max<int64_t>(size, 1), &num_bytes)) {
      refuse(path, fmt::format("the shape [{}] is too large", fmt::join(header.shape, ", ")));
    }
  }
  return is_empty ? 0 : static_cast<uint64_t>(num_bytes);
}

}  // namespace

NumpyHeader parse_numpy_header(std::string_view bytes, const std::filesystem::path& path) {
  const auto [begin, length] = find_dictionary(bytes, path);
  NumpyHeader header = DictParser(bytes.substr(begin, length), path).parse();
  header.data_begin = begin + length;
  header.data_size = compute_data_size(header, path);
  return header;
}

}  // namespace levin
