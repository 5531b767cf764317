#include "trainer/data/images/jpeg_decoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <type_traits>
#include <vector>

// After <cstdio>, which it needs and does not include.
#include <jpeglib.h>

// After <jpeglib.h>, likewise.
#include <jerror.h>

#include "trainer/core/error.h"
#include "trainer/data/images/pixel_planes.h"

// libjpeg's error handler leaves by longjmp(). Only the functions of this file that call setjmp() and libjpeg's
// callbacks lie between the two; they have nothing that would need a destructor, which longjmp() does not run.
namespace levin {
namespace {

// Programs write about ten. Each one takes a pass over the whole image, so that a small file could keep us for hours.
constexpr int kMaxScans = 500;

struct JpegState {
  jpeg_decompress_struct jpeg;
  jpeg_error_mgr errors;
  jpeg_progress_mgr progress;
  jmp_buf jump;
  char reason[JMSG_LENGTH_MAX];  // why it failed
};
static_assert(std::is_trivially_destructible_v<JpegState>);

[[noreturn]] void on_error(j_common_ptr jpeg) {
  auto* state = static_cast<JpegState*>(jpeg->client_data);
  jpeg->err->format_message(jpeg, state->reason);
  std::longjmp(state->jump, 1);
}

void on_progress(j_common_ptr jpeg) {
  auto* state = static_cast<JpegState*>(jpeg->client_data);
  if (state->jpeg.input_scan_number <= kMaxScans) return;
  std::snprintf(state->reason, sizeof(state->reason), "it has more than %d scans", kMaxScans);
  std::longjmp(state->jump, 1);
}

// libjpeg goes on after damage, and makes up what is missing: we do not. Levels >= 0 are traces.
void on_message(j_common_ptr jpeg, int level) {
  if (level >= 0) return;
  switch (jpeg->err->msg_code) {
    case JWRN_JPEG_EOF:
    case JWRN_HIT_MARKER:
    case JWRN_HUFF_BAD_CODE:
    case JWRN_ARITH_BAD_CODE:
    case JWRN_MUST_RESYNC: jpeg->err->error_exit(jpeg); break;
    default: break;  // a flaw of the file that leaves its pixels alone, as bytes too many between two markers
  }
}

bool read_header(JpegState* state, const uint8_t* bytes, size_t size) {
  if (setjmp(state->jump) != 0) return false;
  jpeg_create_decompress(&state->jpeg);
  state->progress.progress_monitor = on_progress;
  state->jpeg.progress = &state->progress;
  jpeg_mem_src(&state->jpeg, bytes, size);
  jpeg_read_header(&state->jpeg, TRUE);
  return true;
}

/// Sets output_width and output_height.
bool start(JpegState* state) {
  if (setjmp(state->jump) != 0) return false;
  jpeg_start_decompress(&state->jpeg);
  return true;
}

/// row: memory for one row.
bool read_rows(JpegState* state, uint8_t* row, PixelPlanes::Source source, PixelPlanes* planes) {
  if (setjmp(state->jump) != 0) return false;
  jpeg_decompress_struct* jpeg = &state->jpeg;
  while (jpeg->output_scanline < jpeg->output_height) {
    const JDIMENSION y = jpeg->output_scanline;
    jpeg_read_scanlines(jpeg, &row, 1);
    planes->set_row(y, row, source);
  }
  jpeg_finish_decompress(jpeg);
  return true;
}

class JpegDecoder {
 public:
  explicit JpegDecoder(const std::string& name) : name_(name) {
    state_.jpeg.err = jpeg_std_error(&state_.errors);
    state_.jpeg.client_data = &state_;
    state_.errors.error_exit = on_error;
    state_.errors.emit_message = on_message;
  }
  ~JpegDecoder() { jpeg_destroy_decompress(&state_.jpeg); }
  JpegDecoder(const JpegDecoder&) = delete;
  JpegDecoder& operator=(const JpegDecoder&) = delete;

  at::Tensor decode(std::span<const uint8_t> bytes, const DecodeOptions& options) {
    check(read_header(&state_, bytes.data(), bytes.size()));
    jpeg_decompress_struct& jpeg = state_.jpeg;
    check_num_pixels(jpeg.image_height, jpeg.image_width, options.max_pixels, name_);
    const PixelPlanes::Source source = choose_output(options.channels);
    choose_scale(options.min_side);
    check(start(&state_));

    PixelPlanes planes(options.channels, jpeg.output_height, jpeg.output_width, name_);
    std::vector<uint8_t> row(static_cast<size_t>(bytes_per_pixel(source)) * jpeg.output_width);
    check(read_rows(&state_, row.data(), source, &planes));
    return planes.tensor();
  }

 private:
  /// Lets libjpeg convert what it can.
  PixelPlanes::Source choose_output(int64_t channels) {
    jpeg_decompress_struct& jpeg = state_.jpeg;
    switch (jpeg.jpeg_color_space) {
      case JCS_CMYK:
      case JCS_YCCK:
        jpeg.out_color_space = JCS_CMYK;
        return jpeg.saw_Adobe_marker ? PixelPlanes::Source::kInvertedCmyk : PixelPlanes::Source::kCmyk;
      case JCS_GRAYSCALE: jpeg.out_color_space = JCS_GRAYSCALE; return PixelPlanes::Source::kGrey;
      case JCS_YCbCr:
        jpeg.out_color_space = channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
        return channels == 1 ? PixelPlanes::Source::kGrey : PixelPlanes::Source::kRgb;
      case JCS_RGB: jpeg.out_color_space = JCS_RGB; return PixelPlanes::Source::kRgb;
      default:
        throw DataError(fmt::format("[decode_image] {} is a JPEG of {} channels of an unknown kind. Convert it to RGB.",
                                    name_, jpeg.num_components));
    }
  }

  void choose_scale(int64_t min_side) {
    jpeg_decompress_struct& jpeg = state_.jpeg;
    if (min_side == 0) return;
    const int64_t side = std::min(jpeg.image_height, jpeg.image_width);
    for (const unsigned denominator : {8u, 4u, 2u}) {
      if ((side + denominator - 1) / denominator < min_side) continue;
      jpeg.scale_num = 1;
      jpeg.scale_denom = denominator;
      return;
    }
  }

  void check(bool succeeded) const {
    if (!succeeded) throw DataError(fmt::format("[decode_image] {} is a damaged JPEG: {}.", name_, state_.reason));
  }

  const std::string& name_;
  JpegState state_ = {};
};

}  // namespace

at::Tensor decode_jpeg(std::span<const uint8_t> bytes, const DecodeOptions& options, const std::string& name) {
  return JpegDecoder(name).decode(bytes, options);
}

}  // namespace levin
