// How fast a tokenizer encodes text in one thread:
//
//   bazel run //tests/trainer/data/text:tokenizer_benchmark -- tokenizer.json text.txt
#include <chrono>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include "trainer/data/text/tokenizer.h"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: tokenizer_benchmark TOKENIZER TEXT\n";
    return 2;
  }
  const auto tokenizer = levin::load_tokenizer(argv[1]);
  std::ifstream stream(argv[2], std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(stream), {});
  for (int round = 0; round < 3; ++round) {
    const auto start = std::chrono::steady_clock::now();
    const size_t num_tokens = tokenizer->encode(text).size();
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    const double megabytes = static_cast<double>(text.size()) / 1e6;
    std::cout << num_tokens << " tokens of " << megabytes << " MB: " << megabytes / elapsed.count() << " MB/s\n";
  }
  return 0;
}
