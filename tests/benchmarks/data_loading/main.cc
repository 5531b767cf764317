// Batches a second of a loader, in this thread or in worker threads, which have one core each.
//
//   data_loading images --workers N [--data FOLDER]
//       Fashion-MNIST in batches of 128, each image normalised, cropped at random (padding 2) and flipped at random
//   data_loading tokens --workers N --file FILE
//       8 windows of 1024 tokens (input and target, int64) a batch, from a file of uint16
//
// Both print {"batches_per_second": ..., "first_batch_ms": ...}: the first from opening the data on.
//
//   data_loading write_tokens --file FILE --megabytes N
//       makes such a file

#include <ATen/Parallel.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "tests/benchmarks/benchmark_main.h"
#include "trainer/core/data_loader.h"
#include "trainer/core/lightning_data_module.h"
#include "trainer/data/images/idx_image_data.h"
#include "trainer/data/sample_random.h"
#include "trainer/data/tokens/token_data.h"
#include "trainer/data/tokens/token_file_writer.h"

namespace {

using Clock = std::chrono::steady_clock;
constexpr int64_t kVocabSize = 50257;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// What stands behind `name`, or `otherwise`.
std::string option(int argc, char** argv, const std::string& name, const std::string& otherwise) {
  for (int i = 2; i + 1 < argc; ++i) {
    if (argv[i] == name) return argv[i + 1];
  }
  return otherwise;
}

levin::LoaderOptions loader_options(int64_t batch_size, int64_t num_workers) {
  return {.batch_size = batch_size, .num_workers = num_workers, .prefetch_factor = 8};
}

std::unique_ptr<levin::LightningDataModule> image_data(const std::filesystem::path& folder, int64_t num_workers) {
  return std::make_unique<levin::IdxImageData>(
      levin::IdxImageData::Options{.train_images = folder / "train-images-idx3-ubyte.gz",
                                   .train_labels = folder / "train-labels-idx1-ubyte.gz",
                                   .pixels = {.normalize_mean = {0.2860}, .normalize_std = {0.3530}},
                                   .crop_padding = 2,
                                   .random_flip = 0.5,
                                   .batch_size = 128,
                                   .workers = loader_options(128, num_workers)});
}

std::unique_ptr<levin::LightningDataModule> token_data(const std::string& file, int64_t num_workers) {
  return std::make_unique<levin::TokenData>(levin::TokenData::Options{
      .train_files = {file}, .sequence_length = 1024, .loader = loader_options(8, num_workers)});
}

/// One batch after the other, over as many epochs as it takes.
class Batches {
 public:
  explicit Batches(levin::DataLoader& loader) : loader_(loader) {
    loader_.attach({});
    loader_.start_epoch(0);
  }

  void take(int64_t count) {
    while (count > 0) {
      if (loader_.next()) {
        --count;
      } else {
        loader_.start_epoch(++epoch_);
      }
    }
  }

 private:
  levin::DataLoader& loader_;
  int64_t epoch_ = 0;
};

void measure(std::unique_ptr<levin::LightningDataModule> data, int64_t num_batches, Clock::time_point start) {
  data->setup(levin::Stage::kTrain);
  const std::unique_ptr<levin::DataLoader> loader = data->train_dataloader();
  Batches batches(*loader);
  batches.take(1);
  const double first_batch_ms = seconds_since(start) * 1e3;
  batches.take(num_batches / 10);
  const Clock::time_point warm = Clock::now();
  batches.take(num_batches);
  const double per_second = static_cast<double>(num_batches) / seconds_since(warm);
  loader->stop();
  std::printf("{\"batches_per_second\": %.1f, \"first_batch_ms\": %.2f}\n", per_second, first_batch_ms);
}

void write_tokens(const std::string& file, int64_t megabytes) {
  levin::TokenFileWriter writer(file, {.type = levin::TokenType::kUint16, .vocab_size = kVocabSize});
  levin::RandomStream random(1);
  std::vector<uint32_t> tokens(500'000);
  for (int64_t i = 0; i < megabytes; ++i) {
    for (uint32_t& token : tokens) token = static_cast<uint32_t>(random.below(kVocabSize));
    writer.append(tokens);
  }
  writer.close();
}

int run(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  const std::string file = option(argc, argv, "--file", "");
  const int64_t num_workers = std::atoll(option(argc, argv, "--workers", "0").c_str());
  const int64_t num_batches = std::atoll(option(argc, argv, "--batches", "0").c_str());
  at::set_num_threads(1);
  const Clock::time_point start = Clock::now();
  if (mode == "images") {
    const std::string folder = option(argc, argv, "--data", "/usr/share/datasets/fashion-mnist");
    measure(image_data(folder, num_workers), num_batches > 0 ? num_batches : 20'000, start);
  } else if (mode == "tokens" && !file.empty()) {
    measure(token_data(file, num_workers), num_batches > 0 ? num_batches : 200'000, start);
  } else if (mode == "write_tokens" && !file.empty()) {
    write_tokens(file, std::atoll(option(argc, argv, "--megabytes", "1000").c_str()));
  } else {
    std::fprintf(stderr,
                 "usage: data_loading images|tokens [--workers N] [--batches N] [--data FOLDER] [--file FILE]\n"
                 "       data_loading write_tokens --file FILE [--megabytes N]\n");
    return 2;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return benchmark_main(run, argc, argv); }
