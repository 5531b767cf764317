#include "trainer/data/transforms/transform.h"

#include <fmt/format.h>

#include <utility>

#include "trainer/core/batch.h"
#include "trainer/core/error.h"
#include "trainer/core/random.h"

namespace levin {
namespace {

// Apart from what the dataset itself draws, whose seed is the run's.
constexpr uint64_t kTransforms = 0x7472616e73666f72;  // "transfor"

void check_images(const at::Tensor& images, size_t num_indices) {
  if (!images.defined() || images.dim() != 4 || images.size(0) != static_cast<int64_t>(num_indices)) {
    throw DataError(
        fmt::format("[apply_transforms] the images of {} samples must be [{}, C, H, W], before and after each "
                    "transform, got {}.",
                    num_indices, num_indices, describe_tensor(images)));
  }
}

}  // namespace

TransformRandom::TransformRandom(std::span<const int64_t> indices, const SampleRandom& random, int64_t place)
    : indices_(indices),
      random_{mix_seed(mix_seed(random.seed, kTransforms), static_cast<uint64_t>(place)), random.epoch} {}

at::Tensor PixelTransform::apply(const at::Tensor& images, const TransformRandom& random) const {
  PixelPass pass(images);
  if (!join(pass, random)) {
    throw DataError("[PixelTransform] images must be real numbers, got " + describe_tensor(images) + ".");
  }
  return pass.run();
}

at::Tensor apply_transforms(const Transforms& transforms, size_t begin, size_t end, at::Tensor images,
                            std::span<const int64_t> indices, const SampleRandom& random) {
  check_images(images, indices.size());
  PixelPass pass(std::move(images));
  for (size_t place = begin; place < end; ++place) {
    const Transform& transform = *transforms[place];
    const TransformRandom own_random(indices, random, static_cast<int64_t>(place));
    if (transform.join(pass, own_random)) continue;
    at::Tensor done = pass.run();
    pass = PixelPass(done);
    if (transform.join(pass, own_random)) continue;
    done = transform.apply(done, own_random);
    check_images(done, indices.size());
    pass = PixelPass(std::move(done));
  }
  return pass.run();
}

at::Tensor apply_transforms(const Transforms& transforms, at::Tensor images, std::span<const int64_t> indices,
                            const SampleRandom& random) {
  return apply_transforms(transforms, 0, transforms.size(), std::move(images), indices, random);
}

}  // namespace levin
