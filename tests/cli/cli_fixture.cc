#include "tests/cli/cli_fixture.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <zlib.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

namespace levin {
namespace {

namespace fs = std::filesystem;

// Lines are counted in cli_bad_input_test: keep them.
constexpr const char* kConfig = R"(seed: 1
trainer:
  max_epochs: 2
  log_every_n_steps: 1
  accelerator: cpu
  enable_progress_bar: false
  enable_model_summary: false
model:
  class: FashionMnistClassifier
  hidden_size: 16
data:
  class: FashionMnistData
  batch_size: 16
optimizer: {class: AdamW, lr: 1e-3}
callbacks:
  - {class: ModelCheckpoint, monitor: val_acc, mode: max}
)";

std::string quoted(const std::string& word) {
  std::string result = "'";
  for (const char c : word) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

std::string big_endian(uint32_t value) {
  std::string bytes;
  for (const int shift : {24, 16, 8, 0}) bytes += static_cast<char>(value >> shift & 0xFF);
  return bytes;
}

void write_gzip(const fs::path& path, const std::string& bytes) {
  const gzFile file = gzopen(path.c_str(), "wb");
  ASSERT_NE(file, nullptr) << path;
  EXPECT_EQ(gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size())), static_cast<int>(bytes.size()));
  EXPECT_EQ(gzclose(file), Z_OK);
}

void write_images(const fs::path& path, int64_t count, int64_t size) {
  std::string bytes = big_endian(0x803) + big_endian(count) + big_endian(size) + big_endian(size);
  uint32_t random = 1;
  for (int64_t i = 0; i < count * size * size; ++i) {
    random = random * 1664525u + 1013904223u;
    bytes += static_cast<char>(random >> 24);
  }
  write_gzip(path, bytes);
}

}  // namespace

std::string read_text(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(stream), {});
}

void write_text(const fs::path& file, const std::string& text) { std::ofstream(file, std::ios::binary) << text; }

std::string CliResult::value(const std::string& name) const {
  const std::string lines = "\n" + out;
  const size_t begin = lines.find("\n" + name + " ");
  if (begin == std::string::npos) return "";
  const size_t value = lines.find_first_not_of(' ', begin + 1 + name.size());
  return lines.substr(value, lines.find('\n', value) - value);
}

CliTest::CliTest() {
  std::string pattern = (fs::path(testing::TempDir()) / "levin-cli-XXXXXX").string();
  folder_ = ::mkdtemp(pattern.data());
  write_data(data(), 28);
  write_text(config(), kConfig);
}

CliTest::~CliTest() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

void CliTest::write_labels(const fs::path& file, int64_t count) {
  std::string bytes = big_endian(0x801) + big_endian(count);
  for (int64_t i = 0; i < count; ++i) bytes += static_cast<char>(i % 10);
  write_gzip(file, bytes);
}

void CliTest::write_data(const fs::path& folder, int64_t image_size) {
  fs::create_directories(folder);
  write_images(folder / "train-images-idx3-ubyte.gz", kNumTrain, image_size);
  write_labels(folder / "train-labels-idx1-ubyte.gz", kNumTrain);
  write_images(folder / "t10k-images-idx3-ubyte.gz", kNumTest, image_size);
  write_labels(folder / "t10k-labels-idx1-ubyte.gz", kNumTest);
}

CliResult CliTest::levin(const std::vector<std::string>& words) const {
  const fs::path out = folder_ / "stdout";
  const fs::path err = folder_ / "stderr";
  std::string command = "OMP_NUM_THREADS=1 ./levin_cli";
  for (const std::string& word : words) command += " " + quoted(word);
  command += " >" + quoted(out) + " 2>" + quoted(err) + " </dev/null";
  const int status = std::system(command.c_str());
  return {.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1, .out = read_text(out), .err = read_text(err)};
}

CliResult CliTest::levin_with_config(const std::string& command, const std::vector<std::string>& more) const {
  std::vector<std::string> words = {command, "--config",   config(), "--trainer.default_root_dir",
                                    root(),  "--data.dir", data()};
  words.insert(words.end(), more.begin(), more.end());
  return levin(words);
}

fs::path CliTest::run(int version) const { return root() / "runs" / "tiny" / ("version_" + std::to_string(version)); }

}  // namespace levin
