// logger_cost CSVLogger|JSONLinesLogger|TensorBoardLogger [--rows N]: what a row of five metrics costs, with the writes
// of the buffer and a flush() at the end. Writes into a folder of its own under $TMPDIR.
#include <stdlib.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "callbacks/loggers/csv_logger.h"
#include "callbacks/loggers/json_lines_logger.h"
#include "callbacks/loggers/tensorboard_logger.h"
#include "tests/benchmarks/benchmark_main.h"

namespace {

std::unique_ptr<levin::Logger> make_logger(const std::string& name) {
  if (name == "CSVLogger") return std::make_unique<levin::CSVLogger>();
  if (name == "JSONLinesLogger") return std::make_unique<levin::JSONLinesLogger>();
  if (name == "TensorBoardLogger") return std::make_unique<levin::TensorBoardLogger>();
  return nullptr;
}

double us_per_row(levin::Logger& logger, int64_t num_rows) {
  levin::Metrics row;
  const auto start = std::chrono::steady_clock::now();
  for (int64_t step = 0; step < num_rows; ++step) {
    double value = 1.0 / static_cast<double>(step + 3);
    for (const char* name : {"train_loss", "train_acc", "lr-AdamW", "grad_norm", "samples_per_second"}) {
      row.set(name, value *= 1.7);
    }
    logger.log_metrics(row, step, 0);
  }
  logger.flush();
  const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - start;
  return time.count() / static_cast<double>(num_rows);
}

int run(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "";
  const int64_t num_rows = argc > 3 && std::string(argv[2]) == "--rows" ? std::atoll(argv[3]) : 100000;
  const auto logger = make_logger(name);
  if (!logger || num_rows < 1) {
    std::fprintf(stderr, "usage: logger_cost CSVLogger|JSONLinesLogger|TensorBoardLogger [--rows N]\n");
    return 2;
  }
  std::string dir = (std::filesystem::temp_directory_path() / "levin_XXXXXX").string();
  if (::mkdtemp(dir.data()) == nullptr) return 1;
  logger->open(dir);
  const double cost = us_per_row(*logger, num_rows);
  std::filesystem::remove_all(dir);
  std::printf("{\"logger\": \"%s\", \"us_per_row\": %.3f}\n", name.c_str(), cost);
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return benchmark_main(run, argc, argv); }
