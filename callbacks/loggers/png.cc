#include "callbacks/loggers/png.h"

#include <fmt/format.h>
#include <zlib.h>

#include <string_view>

#include "trainer/core/error.h"

namespace levin {
namespace {

const Bytef* bytes_of(std::string_view text) { return reinterpret_cast<const Bytef*>(text.data()); }

void append_big_endian(std::string& out, uint32_t value) {
  for (const int shift : {24, 16, 8, 0}) out += static_cast<char>(value >> shift & 0xff);
}

// Length, type, content, and the checksum of the latter two.
void append_chunk(std::string& out, std::string_view type, std::string_view content) {
  append_big_endian(out, static_cast<uint32_t>(content.size()));
  const size_t start = out.size();
  out.append(type).append(content);
  const std::string_view checked = std::string_view(out).substr(start);
  append_big_endian(out, static_cast<uint32_t>(crc32_z(0, bytes_of(checked), checked.size())));
}

std::string deflate_all(std::string_view text) {
  uLongf size = compressBound(text.size());
  std::string compressed(size, '\0');
  if (compress(reinterpret_cast<Bytef*>(compressed.data()), &size, bytes_of(text), text.size()) != Z_OK) {
    throw InternalError("[PNG] zlib could not compress an image.");
  }
  compressed.resize(size);
  return compressed;
}

}  // namespace

std::string encode_png(std::span<const uint8_t> pixels, uint32_t height, uint32_t width, uint32_t channels) {
  const size_t row_size = size_t{width} * channels;
  if (height == 0 || width == 0 || (channels != 1 && channels != 3) || pixels.size() != row_size * height) {
    throw InternalError(
        fmt::format("[PNG] {} bytes are no image of {}x{}x{}.", pixels.size(), height, width, channels));
  }
  std::string header;
  append_big_endian(header, width);
  append_big_endian(header, height);
  header += {8, channels == 1 ? '\0' : '\2', 0, 0, 0};  // bits, grey or RGB, deflate, standard filters, not interlaced
  std::string rows;
  rows.reserve((row_size + 1) * height);
  for (size_t y = 0; y < height; ++y) {
    rows += '\0';  // no filter
    rows.append(reinterpret_cast<const char*>(pixels.data()) + y * row_size, row_size);
  }
  std::string png = "\x89PNG\r\n\x1a\n";
  append_chunk(png, "IHDR", header);
  append_chunk(png, "IDAT", deflate_all(rows));
  append_chunk(png, "IEND", "");
  return png;
}

}  // namespace levin
