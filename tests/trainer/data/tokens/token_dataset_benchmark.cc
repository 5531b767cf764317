// Prints how fast a TokenDataset gives batches of random windows of a file that is in the page cache.
//
//   bazel run //tests/trainer/data/tokens:token_dataset_benchmark -- FOLDER
//
// FOLDER gets a file of 1 GB, which is removed again.
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "trainer/data/sample_random.h"
#include "trainer/data/tokens/token_dataset.h"
#include "trainer/data/tokens/token_file_writer.h"

namespace levin {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

void measure(const TokenDataset& dataset, int64_t batch_size, int64_t length, int64_t num_batches) {
  RandomStream random(1);
  std::vector<int64_t> indices(static_cast<size_t>(batch_size * num_batches));
  for (int64_t& index : indices) index = random.below(dataset.size());
  const auto start = Clock::now();
  for (int64_t i = 0; i < num_batches; ++i) {
    dataset.get_batch(std::span(indices).subspan(static_cast<size_t>(i * batch_size), static_cast<size_t>(batch_size)),
                      {});
  }
  const double per_second = static_cast<double>(num_batches) / seconds_since(start);
  std::printf("  %3ld windows of %5ld: %8.0f batches/s, %6.0f million tokens/s\n", static_cast<long>(batch_size),
              static_cast<long>(length), per_second, per_second * static_cast<double>(batch_size * length) / 1e6);
}

void run(const std::filesystem::path& path, TokenType type) {
  {
    TokenFileWriter writer(path, {.type = type, .vocab_size = 50257});
    RandomStream random(2);
    std::vector<uint32_t> tokens(1 << 20);
    for (int64_t left = 1'000'000'000 / token_size(type); left > 0; left -= static_cast<int64_t>(tokens.size())) {
      for (uint32_t& token : tokens) token = static_cast<uint32_t>(random.below(50257));
      writer.append(tokens);
    }
    writer.close();
  }
  for (const int64_t length : {int64_t{1024}, int64_t{4096}}) {
    const auto start = Clock::now();
    const TokenDataset dataset({std::make_shared<TokenFile>(path)}, {.sequence_length = length});
    dataset.get_batch(std::vector<int64_t>{5, 1, 7, 9, 100, 3000, 2, 4}, {});
    std::printf("%s, T = %ld: the first batch after %.2f ms\n", token_type_name(type).data(), static_cast<long>(length),
                seconds_since(start) * 1e3);
    for (const int64_t batch_size : {8, 8, 8, 64})
      measure(dataset, batch_size, length, (1 << 29) / length / batch_size);
  }
  std::filesystem::remove(path);
  std::filesystem::remove(token_file_info_path(path));
}

}  // namespace
}  // namespace levin

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: token_dataset_benchmark FOLDER\n");
    return 2;
  }
  for (const auto type : {levin::TokenType::kUint16, levin::TokenType::kUint32}) {
    levin::run(std::filesystem::path(argv[1]) / "benchmark.bin", type);
  }
}
