// A process that saves again and again is killed at random moments (field case B16).
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <random>
#include <thread>

#include "tests/trainer/checkpoint/test_files.h"
#include "trainer/checkpoint/checkpoint.h"

namespace levin {
namespace {

// All values tell `value`, in 32 tensors of 8192 floats: small enough for LibTorch to use no threads, which a forked
// process must not.
Checkpoint make_checkpoint(int64_t value) {
  Checkpoint checkpoint;
  for (int i = 0; i < 32; ++i) {
    checkpoint.model.set("w" + std::to_string(i), floats(std::vector<float>(8192, static_cast<float>(value))));
  }
  checkpoint.optimizer.set("step", value);
  checkpoint.run.set("loop.step", value);
  return checkpoint;
}

// Fails if the parts of the checkpoint tell different values.
int64_t consistent_value_of(const Checkpoint& checkpoint) {
  const int64_t value = checkpoint.run.integer("loop.step");
  EXPECT_EQ(checkpoint.optimizer.integer("step"), value);
  EXPECT_EQ(checkpoint.model.size(), 32u);
  const std::string expected = bytes_of(floats(std::vector<float>(8192, static_cast<float>(value))));
  for (const auto& [name, tensor] : checkpoint.model) EXPECT_EQ(bytes_of(std::get<at::Tensor>(tensor)), expected);
  return value;
}

// In the child: saves value after value and reports each that is saved.
[[noreturn]] void save_for_ever(const std::filesystem::path& folder, int64_t first, int report) {
  try {
    for (int64_t value = first;; ++value) {
      save_checkpoint(folder, make_checkpoint(value));
      if (::write(report, &value, sizeof(value)) != sizeof(value)) ::_exit(2);
    }
  } catch (const std::exception& error) {
    fprintf(stderr, "%s\n", error.what());
    ::_exit(3);
  }
}

// Runs a child that saves from `first` on, and kills it `delay` after its first report. Returns the last value that it
// reported.
int64_t last_saved_before_kill(const std::filesystem::path& folder, int64_t first, std::chrono::microseconds delay) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    save_for_ever(folder, first, ends[1]);
  }
  ::close(ends[1]);
  int64_t last = -1;
  EXPECT_EQ(::read(ends[0], &last, sizeof(last)), static_cast<ssize_t>(sizeof(last)));
  std::this_thread::sleep_for(delay);
  ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status)) << "the child ended by itself, status " << status;
  while (::read(ends[0], &last, sizeof(last)) == sizeof(last)) {
  }
  ::close(ends[0]);
  return last;
}

TEST(CheckpointKillTest, FolderIsAlwaysTheOlderOrTheNewerCheckpoint) {
  const TestFolder test;
  std::mt19937 engine(16);
  std::uniform_int_distribution<int> delay_us(0, 20000);
  int64_t next = 1;
  int num_temporaries = 0;
  for (int kill = 0; kill < 20; ++kill) {
    SCOPED_TRACE(kill);
    const int64_t saved = last_saved_before_kill(test / "last", next, std::chrono::microseconds(delay_us(engine)));
    num_temporaries += static_cast<int>(test.names().size()) - 1;
    const int64_t value = consistent_value_of(load_checkpoint(test / "last"));
    EXPECT_GE(value, saved);
    EXPECT_LE(value, saved + 1);
    next = value + 1;
  }
  // The kills must have hit saves, or this test shows nothing.
  EXPECT_GT(num_temporaries, 5);
  save_checkpoint(test / "last", make_checkpoint(next));
  EXPECT_THAT(test.names(), testing::ElementsAre("last"));
  EXPECT_EQ(consistent_value_of(load_checkpoint(test / "last")), next);
}

}  // namespace
}  // namespace levin
