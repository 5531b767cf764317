#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace levin {

/// Height and width, in pixels.
struct ImageSize {
  int64_t height = 0;
  int64_t width = 0;
};

/// One pass over the images of a batch that several transforms share: of each image a window is cut out, mirrored or
/// not, and its bytes become numbers by a table. Without it, every transform would read and write the whole batch.
///
/// What is added happens in this order: crop, flip, table. A transform that comes in another order, or finds its place
/// taken, needs a pass of its own; the can_...() say so.
class PixelPass {
 public:
  /// images: [B, C, H, W] on the CPU; they are read when the pass runs.
  explicit PixelPass(at::Tensor images);

  const at::Tensor& images() const { return images_; }
  /// Of the images after the pass.
  ImageSize size() const { return size_; }
  int64_t num_images() const { return images_.size(0); }
  /// Whether the images after the pass are.
  bool is_floating_point() const { return tables_ != nullptr || images_.is_floating_point(); }

  bool can_crop() const { return can_flip() && windows_.empty(); }
  /// Windows of this size; `fill` is where they reach beyond the image, in the images' own scale.
  void crop(ImageSize size, double fill);
  /// Where the window of an image begins: negative, or reaching beyond the end, where the image is padded.
  void set_corner(int64_t image, int64_t top, int64_t left);

  bool can_flip() const { return tables_ == nullptr && images_.element_size() <= 8; }
  /// Mirrors an image left to right.
  void flip(int64_t image);

  bool can_look_up() const { return tables_ == nullptr && images_.scalar_type() == at::kByte; }
  /// Bytes become float32. tables: [T, 256], one for each channel or one for all; must outlive the pass.
  void look_up(const std::vector<float>& tables) { tables_ = &tables; }

  /// The images after the pass: a new tensor, or the images themselves if nothing was added.
  at::Tensor run() const;

  /// What of an image is taken.
  struct Window {
    int64_t top = 0;
    int64_t left = 0;
    bool is_mirrored = false;
  };

 private:
  void make_windows();

  at::Tensor images_;
  ImageSize size_;
  double fill_ = 0.0;
  std::vector<Window> windows_;  // empty: the whole images
  const std::vector<float>* tables_ = nullptr;
};

}  // namespace levin
