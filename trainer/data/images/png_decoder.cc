#include "trainer/data/images/png_decoder.h"

#include <fmt/format.h>
#include <png.h>

#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <type_traits>
#include <vector>

#include "trainer/core/error.h"
#include "trainer/data/images/pixel_planes.h"

// libpng leaves by longjmp() where it fails. Only the functions of this file that call setjmp() and libpng's callbacks
// lie between the two; they have nothing that would need a destructor, which longjmp() does not run.
namespace levin {
namespace {

struct PngState {
  png_structp png;
  png_infop info;
  const uint8_t* next;  // what libpng has not read yet
  size_t num_left;
  char reason[256];  // why it failed
};
static_assert(std::is_trivially_destructible_v<PngState>);

[[noreturn]] void on_error(png_structp png, png_const_charp reason) {
  auto* state = static_cast<PngState*>(png_get_error_ptr(png));
  std::snprintf(state->reason, sizeof(state->reason), "%s", reason);
  png_longjmp(png, 1);
}

void on_warning(png_structp /*png*/, png_const_charp /*reason*/) {}

void read_bytes(png_structp png, png_bytep destination, size_t size) {
  auto* state = static_cast<PngState*>(png_get_io_ptr(png));
  if (size > state->num_left) png_error(png, "it is cut off");
  std::memcpy(destination, state->next, size);
  state->next += size;
  state->num_left -= size;
}

bool read_header(PngState* state) {
  if (setjmp(png_jmpbuf(state->png)) != 0) return false;
  png_set_read_fn(state->png, state, read_bytes);
  png_read_info(state->png, state->info);
  return true;
}

// From here on rows are of 8-bit grey or RGB.
bool set_conversions(PngState* state) {
  if (setjmp(png_jmpbuf(state->png)) != 0) return false;
  png_set_expand(state->png);  // palettes, fewer than 8 bits, and transparent colours, which become a channel
  png_set_strip_16(state->png);
  png_set_strip_alpha(state->png);
  png_set_interlace_handling(state->png);
  png_read_update_info(state->png, state->info);
  return true;
}

/// row: memory for one row.
bool read_rows(PngState* state, uint32_t height, uint8_t* row, PixelPlanes::Source source, PixelPlanes* planes) {
  if (setjmp(png_jmpbuf(state->png)) != 0) return false;
  for (uint32_t y = 0; y < height; ++y) {
    png_read_row(state->png, row, nullptr);
    planes->set_row(y, row, source);
  }
  png_read_end(state->png, nullptr);
  return true;
}

/// An interlaced image comes in several passes over all rows.
bool read_interlaced(PngState* state, uint8_t** rows) {
  if (setjmp(png_jmpbuf(state->png)) != 0) return false;
  png_read_image(state->png, rows);
  png_read_end(state->png, nullptr);
  return true;
}

class PngDecoder {
 public:
  PngDecoder(std::span<const uint8_t> bytes, const std::string& name) : name_(name) {
    state_.next = bytes.data();
    state_.num_left = bytes.size();
    state_.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &state_, on_error, on_warning);
    if (state_.png != nullptr) state_.info = png_create_info_struct(state_.png);
    if (state_.info == nullptr) {
      png_destroy_read_struct(&state_.png, nullptr, nullptr);
      throw DataError(fmt::format("[decode_image] there is no memory to decode {}.", name_));
    }
  }
  ~PngDecoder() { png_destroy_read_struct(&state_.png, &state_.info, nullptr); }
  PngDecoder(const PngDecoder&) = delete;
  PngDecoder& operator=(const PngDecoder&) = delete;

  at::Tensor decode(const DecodeOptions& options) {
    check(read_header(&state_));
    const uint32_t height = png_get_image_height(state_.png, state_.info);
    const uint32_t width = png_get_image_width(state_.png, state_.info);
    check_num_pixels(height, width, options.max_pixels, name_);
    const bool is_interlaced = png_get_interlace_type(state_.png, state_.info) != PNG_INTERLACE_NONE;
    check(set_conversions(&state_));
    const auto source =
        png_get_channels(state_.png, state_.info) == 1 ? PixelPlanes::Source::kGrey : PixelPlanes::Source::kRgb;
    const size_t row_size = png_get_rowbytes(state_.png, state_.info);

    PixelPlanes planes(options.channels, height, width, name_);
    std::vector<uint8_t> memory(is_interlaced ? row_size * height : row_size);
    if (is_interlaced) {
      std::vector<uint8_t*> rows(height);
      for (uint32_t y = 0; y < height; ++y) rows[y] = memory.data() + y * row_size;
      check(read_interlaced(&state_, rows.data()));
      for (uint32_t y = 0; y < height; ++y) planes.set_row(y, rows[y], source);
    } else {
      check(read_rows(&state_, height, memory.data(), source, &planes));
    }
    return planes.tensor();
  }

 private:
  void check(bool succeeded) const {
    if (!succeeded) throw DataError(fmt::format("[decode_image] {} is a damaged PNG: {}.", name_, state_.reason));
  }

  const std::string& name_;
  PngState state_ = {};
};

}  // namespace

at::Tensor decode_png(std::span<const uint8_t> bytes, const DecodeOptions& options, const std::string& name) {
  return PngDecoder(bytes, name).decode(options);
}

}  // namespace levin
