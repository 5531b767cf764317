#pragma once

#include <png.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

// After <cstdio>, which it needs and does not include.
#include <jpeglib.h>

namespace levin {

/// What a test image is, beside its pixels.
struct TestPng {
  int width = 0;
  int height = 0;
  int color_type = PNG_COLOR_TYPE_RGB;
  int bit_depth = 8;
  bool is_interlaced = false;
  std::vector<png_color> palette = {};
  std::vector<uint8_t> palette_alpha = {};
};

/// The bytes of a PNG file; rows: as libpng takes them, one after the other.
inline std::string png_bytes(const TestPng& image, const std::string& rows) {
  std::string bytes;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  const auto append = [](png_structp writer, png_bytep data, size_t size) {
    static_cast<std::string*>(png_get_io_ptr(writer))->append(reinterpret_cast<char*>(data), size);
  };
  png_set_write_fn(png, &bytes, append, nullptr);
  png_set_IHDR(png, info, static_cast<png_uint_32>(image.width), static_cast<png_uint_32>(image.height),
               image.bit_depth, image.color_type, image.is_interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  if (!image.palette.empty()) png_set_PLTE(png, info, image.palette.data(), static_cast<int>(image.palette.size()));
  if (!image.palette_alpha.empty()) {
    png_set_tRNS(png, info, image.palette_alpha.data(), static_cast<int>(image.palette_alpha.size()), nullptr);
  }
  png_write_info(png, info);
  const size_t row_size = rows.size() / static_cast<size_t>(image.height);
  std::vector<png_bytep> pointers;
  for (int y = 0; y < image.height; ++y) {
    pointers.push_back(reinterpret_cast<png_bytep>(const_cast<char*>(rows.data())) + static_cast<size_t>(y) * row_size);
  }
  png_write_image(png, pointers.data());
  png_write_end(png, nullptr);
  png_destroy_write_struct(&png, &info);
  return bytes;
}

struct TestJpeg {
  int width = 0;
  int height = 0;
  int channels = 3;  ///< 1: grey, 3: RGB, 4: CMYK
  bool is_progressive = false;
  bool has_adobe_marker = true;  ///< Of CMYK.
  std::string exif = {};         ///< The APP1 marker, if any.
};

/// The bytes of a JPEG file of the highest quality; pixels: row by row.
inline std::string jpeg_bytes(const TestJpeg& image, const std::string& pixels) {
  jpeg_compress_struct jpeg;
  jpeg_error_mgr errors;
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_compress(&jpeg);
  unsigned char* memory = nullptr;
  unsigned long size = 0;  // NOLINT(google-runtime-int): libjpeg's type
  jpeg_mem_dest(&jpeg, &memory, &size);
  jpeg.image_width = static_cast<JDIMENSION>(image.width);
  jpeg.image_height = static_cast<JDIMENSION>(image.height);
  jpeg.input_components = image.channels;
  jpeg.in_color_space = image.channels == 1 ? JCS_GRAYSCALE : image.channels == 3 ? JCS_RGB : JCS_CMYK;
  jpeg_set_defaults(&jpeg);
  if (image.channels == 4) jpeg.write_Adobe_marker = image.has_adobe_marker ? TRUE : FALSE;
  jpeg_set_quality(&jpeg, 100, TRUE);
  jpeg.comp_info[0].h_samp_factor = jpeg.comp_info[0].v_samp_factor = 1;
  if (image.is_progressive) jpeg_simple_progression(&jpeg);
  jpeg_start_compress(&jpeg, TRUE);
  if (!image.exif.empty()) {
    jpeg_write_marker(&jpeg, JPEG_APP0 + 1, reinterpret_cast<const JOCTET*>(image.exif.data()),
                      static_cast<unsigned>(image.exif.size()));
  }
  const size_t row_size = static_cast<size_t>(image.width * image.channels);
  while (jpeg.next_scanline < jpeg.image_height) {
    auto* row = reinterpret_cast<JSAMPROW>(const_cast<char*>(pixels.data())) + jpeg.next_scanline * row_size;
    jpeg_write_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_compress(&jpeg);
  jpeg_destroy_compress(&jpeg);
  std::string bytes(reinterpret_cast<char*>(memory), size);
  std::free(memory);
  return bytes;
}

/// A PNG of one colour.
inline std::string flat_png(int width, int height, uint8_t value) {
  return png_bytes({.width = width, .height = height},
                   std::string(static_cast<size_t>(width * height * 3), static_cast<char>(value)));
}

}  // namespace levin
