#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace levin {

/// What one run of the `levin` program gave.
struct CliResult {
  int exit_code = -1;
  std::string out;
  std::string err;

  /// The value that stdout prints behind `name` at the start of a line; "" if there is none.
  std::string value(const std::string& name) const;
};

/// A temporary folder with a tiny data set in the form of Fashion-MNIST and a configuration for it, and the program.
class CliTest : public testing::Test {
 protected:
  static constexpr int64_t kNumTrain = 64;
  static constexpr int64_t kNumTest = 32;

  CliTest();
  ~CliTest() override;

  /// Runs levin_cli with one thread. Nothing may hang on the words: each is one argument.
  CliResult levin(const std::vector<std::string>& words) const;
  /// Runs a command on the configuration, with the data and root() as its folder.
  CliResult levin_with_config(const std::string& command, const std::vector<std::string>& more = {}) const;

  std::filesystem::path folder() const { return folder_; }
  std::filesystem::path data() const { return folder_ / "data"; }
  std::filesystem::path config() const { return folder_ / "tiny.yaml"; }
  /// default_root_dir: not there until a run makes it.
  std::filesystem::path root() const { return folder_ / "root"; }
  std::filesystem::path run(int version) const;

  /// Writes the four files.
  static void write_data(const std::filesystem::path& folder, int64_t image_size);
  /// Labels of `count` images: 0, 1, ..., 9, 0, ...
  static void write_labels(const std::filesystem::path& file, int64_t count);

 private:
  std::filesystem::path folder_;
};

std::string read_text(const std::filesystem::path& file);
void write_text(const std::filesystem::path& file, const std::string& text);

}  // namespace levin
