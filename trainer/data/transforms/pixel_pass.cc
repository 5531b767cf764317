#include "trainer/data/transforms/pixel_pass.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace levin {
namespace {

constexpr int64_t kNumBytes = 256;

/// Elements as they are.
template <class T>
struct Copy {
  using In = T;
  using Out = T;

  void forward(const T* from, T* to, int64_t count) const {
    std::memcpy(to, from, static_cast<size_t>(count) * sizeof(T));
  }
  void mirrored(const T* from, T* to, int64_t count) const {
    const T* end = from + count;
    if constexpr (sizeof(T) == 1) {
      // Eight at a time: byte for byte would take several times as long.
      for (; count >= 8; count -= 8) {
        end -= 8;
        uint64_t pixels = 0;
        std::memcpy(&pixels, end, sizeof(pixels));
        pixels = __builtin_bswap64(pixels);
        std::memcpy(to, &pixels, sizeof(pixels));
        to += 8;
      }
    }
    std::reverse_copy(from, end, to);
  }
};

/// Bytes to the floats of a table.
struct LookUp {
  using In = uint8_t;
  using Out = float;

  void forward(const uint8_t* from, float* to, int64_t count) const {
    for (int64_t i = 0; i < count; ++i) to[i] = table[from[i]];
  }
  void mirrored(const uint8_t* from, float* to, int64_t count) const {
    from += count - 1;
    for (int64_t i = 0; i < count; ++i) to[i] = table[from[-i]];
  }

  const float* table;
};

/// Writes the window of one plane.
template <class Map>
void write_plane(const Map& map, const typename Map::In* from, ImageSize source, typename Map::Out* to, ImageSize size,
                 const PixelPass::Window& window, typename Map::Out fill) {
  const int64_t begin = std::clamp<int64_t>(window.left, 0, source.width);
  const int64_t end = std::clamp(window.left + size.width, begin, source.width);
  const int64_t count = end - begin;
  int64_t first = std::clamp<int64_t>(begin - window.left, 0, size.width);  // column of `to` that begins the image
  if (window.is_mirrored) first = size.width - first - count;
  for (int64_t row = 0; row < size.height; ++row, to += size.width) {
    const int64_t source_row = window.top + row;
    if (source_row < 0 || source_row >= source.height || count == 0) {
      std::fill(to, to + size.width, fill);
      continue;
    }
    const typename Map::In* pixels = from + source_row * source.width + begin;
    std::fill(to, to + first, fill);
    if (window.is_mirrored) {
      map.mirrored(pixels, to + first, count);
    } else {
      map.forward(pixels, to + first, count);
    }
    std::fill(to + first + count, to + size.width, fill);
  }
}

/// The images of a batch, one plane after the other. map_of(channel): what happens to its pixels; fill_of(channel).
template <class Map, class MapOf, class FillOf>
void write_images(const at::Tensor& images, const std::vector<PixelPass::Window>& windows, at::Tensor& result,
                  const MapOf& map_of, const FillOf& fill_of) {
  const ImageSize source = {images.size(2), images.size(3)};
  const ImageSize size = {result.size(2), result.size(3)};
  const auto* from = static_cast<const typename Map::In*>(images.const_data_ptr());
  auto* to = static_cast<typename Map::Out*>(result.mutable_data_ptr());
  for (int64_t image = 0; image < images.size(0); ++image) {
    const PixelPass::Window window = windows.empty() ? PixelPass::Window() : windows[static_cast<size_t>(image)];
    for (int64_t channel = 0; channel < images.size(1); ++channel) {
      write_plane(map_of(channel), from, source, to, size, window, fill_of(channel));
      from += source.height * source.width;
      to += size.height * size.width;
    }
  }
}

template <class T>
void copy_images(const at::Tensor& images, const std::vector<PixelPass::Window>& windows, double fill,
                 at::Tensor& result) {
  T element = 0;  // the bits of `fill`, whatever the type
  std::memcpy(&element, at::full({1}, fill, images.options()).const_data_ptr(), sizeof(T));
  write_images<Copy<T>>(
      images, windows, result, [](int64_t) { return Copy<T>(); }, [&](int64_t) { return element; });
}

}  // namespace

PixelPass::PixelPass(at::Tensor images) : images_(std::move(images)), size_{images_.size(2), images_.size(3)} {}

void PixelPass::make_windows() {
  if (windows_.empty()) windows_.resize(static_cast<size_t>(num_images()));
}

void PixelPass::crop(ImageSize size, double fill) {
  make_windows();
  size_ = size;
  fill_ = fill;
}

void PixelPass::set_corner(int64_t image, int64_t top, int64_t left) {
  windows_[static_cast<size_t>(image)].top = top;
  windows_[static_cast<size_t>(image)].left = left;
}

void PixelPass::flip(int64_t image) {
  make_windows();
  bool& is_mirrored = windows_[static_cast<size_t>(image)].is_mirrored;
  is_mirrored = !is_mirrored;
}

at::Tensor PixelPass::run() const {
  const bool has_size = size_.height == images_.size(2) && size_.width == images_.size(3);
  if (tables_ == nullptr && windows_.empty() && has_size) return images_;
  const at::Tensor source = images_.contiguous();
  const at::ScalarType type = tables_ != nullptr ? at::kFloat : images_.scalar_type();
  at::Tensor result =
      at::empty({images_.size(0), images_.size(1), size_.height, size_.width}, images_.options().dtype(type));
  if (tables_ != nullptr) {
    const auto num_tables = static_cast<int64_t>(tables_->size()) / kNumBytes;
    const auto table_of = [&](int64_t channel) { return tables_->data() + channel % num_tables * kNumBytes; };
    write_images<LookUp>(
        source, windows_, result, [&](int64_t channel) { return LookUp{table_of(channel)}; },
        [&](int64_t channel) { return table_of(channel)[static_cast<uint8_t>(fill_)]; });
    return result;
  }
  switch (images_.element_size()) {
    case 1: copy_images<uint8_t>(source, windows_, fill_, result); break;
    case 2: copy_images<uint16_t>(source, windows_, fill_, result); break;
    case 4: copy_images<uint32_t>(source, windows_, fill_, result); break;
    default: copy_images<uint64_t>(source, windows_, fill_, result); break;
  }
  return result;
}

}  // namespace levin
