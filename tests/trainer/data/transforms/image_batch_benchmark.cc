// Measures how many batches of 128 Fashion-MNIST images a loader delivers, shuffled, cropped at random after padding,
// flipped and normalised.
//
//   bazel run //tests/trainer/data/transforms:image_batch_benchmark
#include <benchmark/benchmark.h>

#include <filesystem>
#include <memory>

#include "trainer/data/dataset_loader.h"
#include "trainer/data/idx_image_dataset.h"
#include "trainer/data/transforms/crop.h"
#include "trainer/data/transforms/flip.h"
#include "trainer/data/transforms/normalize.h"
#include "trainer/data/transforms/transformed_dataset.h"

namespace levin {
namespace {

constexpr int64_t kBatchSize = 128;

std::shared_ptr<const Dataset> fashion_mnist() {
  const std::filesystem::path folder = "/usr/share/datasets/fashion-mnist";
  static const auto dataset = std::make_shared<IdxImageDataset>(folder / "train-images-idx3-ubyte.gz",
                                                                folder / "train-labels-idx1-ubyte.gz", 10);
  return dataset;
}

std::shared_ptr<const Dataset> augmented(int64_t padding) {
  Transforms transforms = {std::make_shared<RandomCrop>(ImageSize{28, 28}, padding),
                           std::make_shared<RandomHorizontalFlip>(),
                           std::make_shared<Normalize>(std::vector{0.2860}, std::vector{0.3530})};
  return std::make_shared<TransformedDataset>(fashion_mnist(), std::move(transforms));
}

void deliver(benchmark::State& state, std::shared_ptr<const Dataset> dataset, int64_t num_workers) {
  DatasetLoader loader(std::move(dataset),
                       {.batch_size = kBatchSize, .shuffle = true, .drop_last = true, .num_workers = num_workers});
  loader.attach({.seed = 1});
  int64_t epoch = 0;
  loader.start_epoch(epoch);
  for (auto _ : state) {
    std::optional<Batch> batch = loader.next();
    if (!batch) {
      loader.start_epoch(++epoch);
      batch = loader.next();
    }
    benchmark::DoNotOptimize(batch);
  }
  loader.stop();
  state.counters["batches/s"] =
      benchmark::Counter(static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}

void BM_PixelsOnly(benchmark::State& state) { deliver(state, fashion_mnist(), state.range(0)); }
void BM_CropFlipNormalize(benchmark::State& state) { deliver(state, augmented(state.range(0)), state.range(1)); }

BENCHMARK(BM_PixelsOnly)->ArgName("workers")->Arg(0)->UseRealTime();
BENCHMARK(BM_CropFlipNormalize)->ArgNames({"padding", "workers"})->ArgsProduct({{2, 4}, {0, 1, 2}})->UseRealTime();

}  // namespace
}  // namespace levin

BENCHMARK_MAIN();
