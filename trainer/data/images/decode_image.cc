#include "trainer/data/images/decode_image.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include "trainer/core/error.h"
#include "trainer/data/images/jpeg_decoder.h"
#include "trainer/data/images/png_decoder.h"

namespace levin {
namespace {

bool begins_with(std::span<const uint8_t> bytes, std::initializer_list<uint8_t> signature) {
  return bytes.size() >= signature.size() && std::equal(signature.begin(), signature.end(), bytes.begin());
}

void check_options(const DecodeOptions& options) {
  if (options.channels != 1 && options.channels != 3) {
    throw ConfigError(fmt::format("[decode_image] channels must be 1 or 3, got {}.", options.channels));
  }
  if (options.max_pixels < 1 || options.min_side < 0) {
    throw ConfigError(fmt::format("[decode_image] max_pixels must be >= 1 and min_side >= 0, got {} and {}.",
                                  options.max_pixels, options.min_side));
  }
}

struct FileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

[[noreturn]] void throw_unreadable(const std::filesystem::path& path, int error) {
  throw DataError(fmt::format("[decode_image] cannot read {}: {}.", path.string(), std::strerror(error)));
}

std::vector<uint8_t> read_file(const std::filesystem::path& path) {
  const std::unique_ptr<std::FILE, FileCloser> file(std::fopen(path.c_str(), "rbe"));
  if (!file) throw_unreadable(path, errno);
  std::error_code error;
  const uintmax_t size = std::filesystem::file_size(path, error);
  if (error) throw_unreadable(path, error.value());
  std::vector<uint8_t> bytes(size);
  const size_t num_read = std::fread(bytes.data(), 1, bytes.size(), file.get());
  if (std::ferror(file.get()) != 0) throw_unreadable(path, errno);
  bytes.resize(num_read);  // a file that has just been cut: the decoder says so
  return bytes;
}

}  // namespace

at::Tensor decode_image(std::span<const uint8_t> bytes, const DecodeOptions& options, const std::string& name) {
  check_options(options);
  if (begins_with(bytes, {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'})) return decode_png(bytes, options, name);
  if (begins_with(bytes, {0xff, 0xd8, 0xff})) return decode_jpeg(bytes, options, name);
  if (bytes.empty()) throw DataError(fmt::format("[decode_image] {} is empty.", name));
  throw DataError(fmt::format("[decode_image] {} is neither PNG nor JPEG: it begins with the bytes {:02x}. Convert it.",
                              name, fmt::join(bytes.first(std::min<size_t>(bytes.size(), 8)), " ")));
}

at::Tensor decode_image(const std::filesystem::path& path, const DecodeOptions& options) {
  return decode_image(read_file(path), options, path.string());
}

}  // namespace levin
