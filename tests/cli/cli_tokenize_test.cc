#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <chrono>
#include <cstring>
#include <thread>

#include "tests/cli/cli_fixture.h"

namespace levin {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

class CliTokenizeTest : public CliTest {
 protected:
  CliTokenizeTest() {
    write_text(folder() / "a.txt", "one two\n\nthree\n");
    write_text(folder() / "b.txt", "four");
  }
  CliResult tokenize(std::vector<std::string> words) const {
    words.insert(words.begin(), "tokenize");
    return levin(words);
  }
  void expect_error(const std::vector<std::string>& words, int exit_code, const std::string& text) const {
    const CliResult result = tokenize(words);
    EXPECT_EQ(result.exit_code, exit_code);
    EXPECT_THAT(result.err, HasSubstr(text));
    EXPECT_EQ(result.out, "");
    EXPECT_FALSE(fs::exists(output()));
    EXPECT_FALSE(fs::exists(temporary()));
  }
  std::vector<uint16_t> tokens() const {
    const std::string bytes = read_text(output());
    std::vector<uint16_t> values(bytes.size() / 2);
    std::memcpy(values.data(), bytes.data(), values.size() * 2);
    return values;
  }
  fs::path a() const { return folder() / "a.txt"; }
  fs::path b() const { return folder() / "b.txt"; }
  fs::path output() const { return folder() / "out.bin"; }
  fs::path temporary() const { return folder() / ".out.bin.tmp"; }

  pid_t start(const fs::path& text) const {
    std::vector<std::string> words = {"./levin_cli", "tokenize", text, "-o", output(), "--threads", "1"};
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 2, (folder() / "errors").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    pid_t pid = -1;
    EXPECT_EQ(posix_spawn(&pid, "./levin_cli", &files, nullptr, arguments.data(), environ), 0);
    posix_spawn_file_actions_destroy(&files);
    return pid;
  }
};

TEST_F(CliTokenizeTest, WritesATokenFileOfDocuments) {
  const CliResult result = tokenize({a(), b(), "--output", output(), "--documents", "line"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.value("documents"), "3");
  EXPECT_EQ(result.value("tokens"), "19 of uint16");
  EXPECT_EQ(result.value("token file"), output().string());
  EXPECT_THAT(result.err, HasSubstr("Tokenize 1/1 ["));
  EXPECT_THAT(result.err, HasSubstr("MB/s]"));
  EXPECT_THAT(tokens(), ElementsAre('o', 'n', 'e', ' ', 't', 'w', 'o', 256, 't', 'h', 'r', 'e', 'e', 256, 'f', 'o', 'u',
                                    'r', 256));
  const std::string info = read_text(output().string() + ".json");
  EXPECT_THAT(info, HasSubstr("\"tokenizer\": \"bytes\""));
  EXPECT_THAT(info, HasSubstr("\"vocab_size\": 257"));
  EXPECT_THAT(info, HasSubstr("\"end_of_text\": 256"));
  EXPECT_FALSE(fs::exists(temporary()));
}

TEST_F(CliTokenizeTest, TakesATokenizerFileAndASeparator) {
  const std::string tokenizer = "tests/parity/tokenizer/gpt2_style.json";
  write_text(a(), "a<|user|>b");
  const CliResult result =
      tokenize({a(), b(), "-o", output(), "-t", tokenizer, "--separator", "<|user|>", "--end-of-text", "<|user|>"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const std::vector<uint16_t> got = tokens();
  ASSERT_GE(got.size(), 6u);
  EXPECT_THAT((std::vector<uint16_t>(got.begin(), got.begin() + 4)), ElementsAre(65, 639, 66, 639));
  EXPECT_EQ(got.back(), 639);
  ASSERT_EQ(tokenize({b(), "-o", output(), "-t", tokenizer, "--end-of-text", "none"}).exit_code, 0);
  EXPECT_EQ(tokens(), (std::vector<uint16_t>(got.begin() + 4, got.end() - 1)));
  EXPECT_THAT(read_text(output().string() + ".json"), HasSubstr("\"tokenizer\": \"gpt2_style.json (xxh3 "));
}

TEST_F(CliTokenizeTest, ALargeVocabularyTakesFourBytes) {
  std::string tokenizer = read_text("tests/parity/tokenizer/gpt2_style.json");
  const size_t id = tokenizer.find("\"id\": 640");
  ASSERT_NE(id, std::string::npos);
  write_text(folder() / "large.json", tokenizer.replace(id, 9, "\"id\": 70000"));
  write_text(a(), "\u00e9|tool");
  const CliResult result = tokenize({a(), "-o", output(), "-t", folder() / "large.json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.value("tokens"), "2 of uint32");
  EXPECT_EQ(read_text(output()), std::string("\x70\x11\x01\0\0\0\0\0", 8));
  EXPECT_THAT(read_text(output().string() + ".json"), HasSubstr("\"vocab_size\": 70001"));
}

TEST_F(CliTokenizeTest, TheFileIsTheSameForAnyNumberOfThreads) {
  std::string text;
  for (int i = 0; i < 300000; ++i) text += "word" + std::to_string(i) + (i % 50 == 0 ? "\n" : " ");
  write_text(a(), text);
  const std::vector<std::string> words = {
      a(), b(), "-o", output(), "-t", "tests/parity/tokenizer/llama3_style.json", "--documents", "line", "--threads"};
  std::string expected;
  for (const char* threads : {"1", "2", "7"}) {
    std::vector<std::string> all = words;
    all.emplace_back(threads);
    ASSERT_EQ(tokenize(all).exit_code, 0);
    if (expected.empty()) expected = read_text(output());
    EXPECT_TRUE(read_text(output()) == expected) << threads;
  }
  EXPECT_GT(expected.size(), size_t{1} << 20);
}

TEST_F(CliTokenizeTest, WrongUsageIsExplained) {
  expect_error({}, 2, "tokenize needs at least one text file");
  expect_error({a()}, 2, "tokenize needs the file to write: --output FILE");
  expect_error({a(), "-o", output(), "--documents", "page"}, 2, "must be one of: file, line, separator, got \"page\"");
  expect_error({a(), "-o", output(), "--documents", "separator"}, 2, "--separator, the text between two documents");
  expect_error({a(), "-o", output(), "--threads", "0"}, 2, "--threads must be in [1, 1024], got 0");
  expect_error({a(), "-o", output(), "--theads", "2"}, 2, "unrecognised option '--theads'");
  expect_error({a(), "-o", output(), "-t", "gpt2"}, 2, "\"bytes\" or the path of a tokenizer.json, got \"gpt2\"");
  expect_error({a(), "-o", output(), "--end-of-text", "<eos>"}, 2, "has no added token \"<eos>\"");
  EXPECT_THAT(tokenize({a(), "-o", a()}).err, HasSubstr("is one of the text files"));
  EXPECT_EQ(read_text(a()), "one two\n\nthree\n");
  const CliResult help = tokenize({"--help"});
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_THAT(help.out, HasSubstr("Usage: levin tokenize FILE... --output FILE"));
  EXPECT_THAT(help.out, HasSubstr("--end-of-text TOKEN"));
  EXPECT_THAT(levin({"--help"}).out, HasSubstr("  tokenize  turn text files into a token file"));
}

TEST_F(CliTokenizeTest, BadFilesLeaveNoTokenFile) {
  expect_error({a(), folder() / "none.txt", "-o", output()}, 1, "cannot open " + (folder() / "none.txt").string());
  write_text(folder() / "empty.txt", "");
  expect_error({folder() / "empty.txt", "-o", output()}, 1, "have no text");
  write_text(folder() / "t.json", "{\"model\": {\"type\": \"Unigram\"}}");
  expect_error({a(), "-o", output(), "-t", folder() / "t.json"}, 1, "model.type must be \"BPE\", got \"Unigram\"");
  const CliResult result = tokenize({a(), "-o", folder() / "missing" / "out.bin"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr((folder() / "missing").string()));
}

TEST_F(CliTokenizeTest, ASignalLeavesTheFileThatWasThere) {
  // Takes seconds, but no space on the disk.
  write_text(folder() / "large.txt", "");
  fs::resize_file(folder() / "large.txt", uintmax_t{4} << 30);
  write_text(output(), "old");
  for (const auto& [signal, code] : {std::pair(SIGINT, 130), std::pair(SIGTERM, 143)}) {
    const pid_t pid = start(folder() / "large.txt");
    for (int i = 0; i < 5000 && (!fs::exists(temporary()) || fs::file_size(temporary()) == 0); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    kill(pid, signal);
    int status = 0;
    waitpid(pid, &status, 0);
    ASSERT_TRUE(WIFEXITED(status)) << status;
    EXPECT_EQ(WEXITSTATUS(status), code);
    EXPECT_THAT(read_text(folder() / "errors"), HasSubstr(output().string() + " was not written"));
    EXPECT_EQ(read_text(output()), "old");
    EXPECT_FALSE(fs::exists(temporary()));
  }
}

}  // namespace
}  // namespace levin
