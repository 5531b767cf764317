#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <chrono>
#include <random>
#include <thread>

#include "tests/cli/cli_fixture.h"

extern char** environ;

namespace levin {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr const char* kConfig = R"(seed: 3
trainer:
  max_epochs: 12
  val_check_interval: 3
  accumulate_grad_batches: 2
  log_every_n_steps: 1
  accelerator: cpu
  enable_progress_bar: false
  enable_model_summary: false
model: {class: FashionMnistClassifier, hidden_size: 16}
data: {class: FashionMnistData, batch_size: 16}
optimizer: {class: AdamW, lr: 1e-3}
scheduler: {class: CosineAnnealingLR}
callbacks:
  - {class: ModelCheckpoint, monitor: val_acc, mode: max, every_n_train_steps: 2, save_top_k: 2}
  - {class: ExponentialMovingAverage, decay: 0.9}
logger: [{class: CSVLogger}, {class: JSONLinesLogger}]
)";

// What a run leaves that must not depend on whether it was stopped.
struct Outcome {
  std::string csv, json, model, optimizer, score;
  bool operator==(const Outcome&) const = default;
};

class CliResumeTest : public CliTest {
 protected:
  CliResumeTest() { write_text(config(), kConfig); }

  std::vector<std::string> words(const fs::path& root, const std::string& resume) const {
    std::vector<std::string> words = {"fit", "--config",   config(), "--trainer.default_root_dir",
                                      root,  "--data.dir", data()};
    if (!resume.empty()) words.insert(words.end(), {"--resume", resume});
    return words;
  }
  static fs::path run_of(const fs::path& root) { return root / "runs" / "tiny" / "version_0"; }
  fs::path errors() const { return folder() / "stderr_of_child"; }

  // The program as a process of its own, that can be killed.
  pid_t start(const std::vector<std::string>& words) const {
    std::vector<std::string> all = {"./levin_cli"};
    all.insert(all.end(), words.begin(), words.end());
    std::vector<char*> arguments;
    for (std::string& word : all) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&files, 2, errors().c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    pid_t pid = -1;
    EXPECT_EQ(posix_spawn(&pid, "./levin_cli", &files, nullptr, arguments.data(), environ), 0);
    posix_spawn_file_actions_destroy(&files);
    return pid;
  }
  static int wait(pid_t pid) {
    int status = 0;
    waitpid(pid, &status, 0);
    return status;
  }
  // Waits until the run has a checkpoint, or the process is over.
  static void wait_for_checkpoint(pid_t pid, const fs::path& run) {
    siginfo_t info{};
    for (int i = 0; i < 2000 && !fs::exists(run / "checkpoints" / "last"); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      if (waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid) return;
    }
  }
  static Outcome outcome(const fs::path& run) {
    return {read_text(run / "metrics.csv"), read_text(run / "metrics.jsonl"),
            read_text(run / "checkpoints" / "last" / "model.safetensors"),
            read_text(run / "checkpoints" / "last" / "optimizer.safetensors"),
            fs::read_symlink(run / "checkpoints" / "best").string()};
  }
  Outcome uninterrupted() const {
    const CliResult result = levin(words(folder() / "whole", ""));
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return outcome(run_of(folder() / "whole"));
  }
  void expect_equal(const Outcome& found, const Outcome& expected) const {
    EXPECT_EQ(found.csv, expected.csv);
    EXPECT_EQ(found.json, expected.json);
    EXPECT_EQ(found.score, expected.score);
    EXPECT_TRUE(found.model == expected.model) << "the weights differ";
    EXPECT_TRUE(found.optimizer == expected.optimizer) << "the state of the optimizer differs";
  }
};

// Field cases B16, B17: killed again and again at any moment, also in a validation or a save.
TEST_F(CliResumeTest, ARunThatIsKilledAgainAndAgainEndsAsOneThatWasNot) {
  setenv("OMP_NUM_THREADS", "1", 1);
  const Outcome expected = uninterrupted();
  std::mt19937 random(std::random_device{}());
  int num_kills = 0;
  for (int i = 0; i < 8; ++i) {
    const pid_t pid = start(words(root(), "auto"));
    wait_for_checkpoint(pid, run(0));
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % (i == 0 ? 50 : 600)));
    kill(pid, SIGKILL);
    num_kills += WIFSIGNALED(wait(pid)) ? 1 : 0;
  }
  EXPECT_GE(num_kills, 1);
  const CliResult result = levin(words(root(), "auto"));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  expect_equal(outcome(run(0)), expected);
  EXPECT_FALSE(fs::exists(run(1)));
}

// Field cases B17, B18.
TEST_F(CliResumeTest, SignalsEndARunWithACheckpoint) {
  setenv("OMP_NUM_THREADS", "1", 1);
  const Outcome expected = uninterrupted();
  for (const auto& [signal, code, name] : {std::tuple(SIGTERM, 143, "SIGTERM"), std::tuple(SIGINT, 130, "SIGINT")}) {
    const fs::path root = folder() / name;
    const pid_t pid = start(words(root, ""));
    wait_for_checkpoint(pid, run_of(root));
    kill(pid, signal);
    const int status = wait(pid);
    ASSERT_TRUE(WIFEXITED(status)) << name;
    ASSERT_EQ(WEXITSTATUS(status), code) << read_text(errors());
    EXPECT_THAT(read_text(errors()), HasSubstr(std::string("ended by ") + name));
    EXPECT_TRUE(fs::exists(run_of(root) / "checkpoints" / "interrupted" / "manifest.json"));
    EXPECT_THAT(read_text(run_of(root) / "run.json"), HasSubstr("\"interrupted\""));
    const CliResult result = levin(words(root, "last"));
    ASSERT_EQ(result.exit_code, 0) << result.err;
    expect_equal(outcome(run_of(root)), expected);
  }
}

TEST_F(CliResumeTest, ResumeIsForFitOnly) {
  const CliResult result = levin_with_config("test", {"--resume", "last"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("--resume is for fit, not for test"));
}

}  // namespace
}  // namespace levin
