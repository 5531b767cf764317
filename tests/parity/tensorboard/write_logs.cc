// write_logs DIR: writes logs into folders of DIR that read_logs.py knows.
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <memory>

#include "callbacks/loggers/csv_logger.h"
#include "callbacks/loggers/json_lines_logger.h"
#include "callbacks/loggers/tensorboard_logger.h"

namespace levin {
namespace {

namespace fs = std::filesystem;

constexpr double kInf = std::numeric_limits<double>::infinity();

Metrics row(std::initializer_list<Metrics::Entry> entries) {
  Metrics metrics;
  for (const auto& [name, value] : entries) metrics.set(name, value);
  return metrics;
}

template <class T>
std::unique_ptr<T> open(const fs::path& dir) {
  fs::create_directories(dir);
  auto logger = std::make_unique<T>();
  logger->open(dir);
  return logger;
}

void log_loss(Logger& logger, int64_t first, int64_t end) {
  for (int64_t step = first; step < end; ++step) {
    logger.log_metrics(row({{"loss", std::exp2(-static_cast<double>(step))}}), step, step / 2);
  }
}

void write_killed(const fs::path& dir) {
  const pid_t child = ::fork();
  if (child == 0) {
    const auto logger = open<TensorBoardLogger>(dir);
    log_loss(*logger, 0, 2);
    logger->flush();
    log_loss(*logger, 2, 3);
    ::kill(::getpid(), SIGKILL);
  }
  ::waitpid(child, nullptr, 0);
}

// Steps 0 to 3, then back to the state behind step 1. With `loses_file` the file has lost its end meanwhile.
void write_resumed(const fs::path& dir, bool loses_file) {
  auto logger = open<TensorBoardLogger>(dir);
  log_loss(*logger, 0, 2);
  logger->flush();
  const StateDict state = logger->state();
  if (!loses_file) log_loss(*logger, 2, 4);
  logger = nullptr;
  if (loses_file) fs::resize_file(dir / state.text("file"), static_cast<uintmax_t>(state.integer("bytes") - 1));
  logger = open<TensorBoardLogger>(dir);
  logger->load_state(state);
  log_loss(*logger, 2, 3);
}

void write_run(const fs::path& dir, const std::string& lr, double val_loss) {
  const auto logger = open<TensorBoardLogger>(dir);
  logger->log_hyperparameters(
      {{"optimizer.lr", lr}, {"model.class", "Gpt"}, {"data.shuffle", "true"}, {"limit", "inf"}});
  log_loss(*logger, 0, 2);
  logger->log_metrics(row({{"val_loss", val_loss}, {"not_finite", std::nan("")}, {"infinite", kInf}}), 1, 1);
}

void write_kinds(const fs::path& dir) {
  const auto logger = open<TensorBoardLogger>(dir);
  logger->log_histogram("weights", at::tensor({0.0, 1.0, 1.0, 60.0, std::nan("")}), 5);
  logger->log_histogram("constant", at::full({3}, 2.5), 5);
  logger->log_histogram("nothing", at::full({2}, kInf), 5);
  logger->log_text("note", "**bold** \xc3\xa4 \xff", 6);
  logger->log_image("bytes", at::arange(24, at::kByte).reshape({3, 2, 4}), 7);
  logger->log_image("grey", at::tensor({-1.0, 0.0, 0.5, 1.0, 2.0, std::nan("")}).reshape({1, 2, 3}), 7);
}

void write_rows(const fs::path& dir) {
  const auto lines = open<JSONLinesLogger>(dir);
  const auto table = open<CSVLogger>(dir);
  for (Logger* logger : {static_cast<Logger*>(lines.get()), static_cast<Logger*>(table.get())}) {
    logger->log_metrics(row({{"a,\"b", 1.0 / 3}}), 0, 0);
    logger->log_metrics(row({{"nan", std::nan("")}, {"inf", -kInf}}), 1, 0);
  }
}

}  // namespace
}  // namespace levin

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::filesystem::path dir = argv[1];
  levin::log_loss(*levin::open<levin::TensorBoardLogger>(dir / "plain"), 0, 3);
  levin::write_killed(dir / "killed");
  levin::write_resumed(dir / "resumed", false);
  levin::write_resumed(dir / "purged", true);
  levin::write_run(dir / "runs/version_0", "1e-3", 0.5);
  levin::write_run(dir / "runs/version_1", "0.01", 0.25);
  levin::write_kinds(dir / "kinds");
  levin::write_rows(dir / "rows");
}
