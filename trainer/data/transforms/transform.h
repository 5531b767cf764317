#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "trainer/data/sample_random.h"
#include "trainer/data/transforms/pixel_pass.h"

namespace levin {

/// The random numbers of one transform: of each image a stream of its own, a function of the run's seed, the epoch, the
/// sample's index and the transform's place in its chain. Neither workers, ranks nor the other images of the batch
/// change what an image gets.
class TransformRandom {
 public:
  /// indices: of the samples in the dataset, one for each image; must outlive this. place: in the chain, from 0.
  TransformRandom(std::span<const int64_t> indices, const SampleRandom& random, int64_t place);

  /// The numbers of image `row` of the batch.
  RandomStream stream(int64_t row) const { return random_.stream(indices_[static_cast<size_t>(row)]); }

 private:
  std::span<const int64_t> indices_;
  SampleRandom random_;
};

/// Changes the images of a batch. Derive from it for a transform of your own; it is called from several threads at a
/// time.
class Transform {
 public:
  virtual ~Transform() = default;

  /// images: [B, C, H, W] on the CPU, not to be written to: they may be the dataset's own memory. Returns [B, ...].
  /// Images that differ in size come one by one, with B = 1.
  /// Errors: DataError if the images are not of a kind that the transform is for.
  virtual at::Tensor apply(const at::Tensor& images, const TransformRandom& random) const = 0;

  /// Adds itself to the pass instead, with the same result. False: it cannot, and the pass is as it was.
  /// Errors: as apply().
  virtual bool join(PixelPass& /*pass*/, const TransformRandom& /*random*/) const { return false; }

  /// True if images of any sizes have one size afterwards.
  virtual bool gives_one_size() const { return false; }
};

/// A transform that a PixelPass can always do.
class PixelTransform : public Transform {
 public:
  /// Errors: DataError if the images' type is not real.
  at::Tensor apply(const at::Tensor& images, const TransformRandom& random) const final;
};

/// A chain: the first is applied first.
using Transforms = std::vector<std::shared_ptr<const Transform>>;

/// Applies the transforms [begin, end) of the chain to images [B, C, H, W] of the samples `indices`; those that can
/// share a PixelPass do. Errors: DataError if the images are not of that form, and of the transforms.
at::Tensor apply_transforms(const Transforms& transforms, size_t begin, size_t end, at::Tensor images,
                            std::span<const int64_t> indices, const SampleRandom& random);

/// The whole chain.
at::Tensor apply_transforms(const Transforms& transforms, at::Tensor images, std::span<const int64_t> indices,
                            const SampleRandom& random);

}  // namespace levin
