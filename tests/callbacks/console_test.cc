#include "callbacks/console.h"

#include <gtest/gtest.h>
#include <pty.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdio>

namespace levin {
namespace {

class ConsoleTest : public testing::Test {
 protected:
  void SetUp() override {
    winsize size{};
    size.ws_col = 123;
    size.ws_row = 40;
    ASSERT_EQ(openpty(&outer_, &inner_, nullptr, nullptr, &size), 0);
    terminal_ = fdopen(inner_, "w");
    setenv("TERM", "xterm", 1);
    for (const char* name : {"NO_COLOR", "LC_ALL", "LC_CTYPE", "LANG"}) unsetenv(name);
  }
  void TearDown() override {
    std::fclose(terminal_);
    close(outer_);
  }

  int outer_ = -1;
  int inner_ = -1;
  std::FILE* terminal_ = nullptr;
};

TEST_F(ConsoleTest, TerminalTellsItsWidth) {
  const StreamConsole console(terminal_);
  EXPECT_TRUE(console.is_terminal());
  EXPECT_TRUE(console.has_colors());
  EXPECT_EQ(console.num_columns(), 123);
}

TEST_F(ConsoleTest, TextIsWrittenAtOnce) {
  StreamConsole console(terminal_);
  console.write("\rhello");
  char text[16] = {};
  ASSERT_EQ(read(outer_, text, sizeof text), 6);
  EXPECT_STREQ(text, "\rhello");
}

TEST_F(ConsoleTest, NoColorTurnsColorsOffAndKeepsTheTerminal) {
  setenv("NO_COLOR", "1", 1);
  const StreamConsole console(terminal_);
  EXPECT_TRUE(console.is_terminal());
  EXPECT_FALSE(console.has_colors());
}

TEST_F(ConsoleTest, DumbTerminalIsNone) {
  setenv("TERM", "dumb", 1);
  const StreamConsole console(terminal_);
  EXPECT_FALSE(console.is_terminal());
  EXPECT_FALSE(console.has_colors());
}

TEST_F(ConsoleTest, FileIsNoTerminal) {
  std::FILE* file = std::tmpfile();
  const StreamConsole console(file);
  EXPECT_FALSE(console.is_terminal());
  EXPECT_FALSE(console.has_colors());
  EXPECT_EQ(console.num_columns(), 80);
  std::fclose(file);
}

TEST_F(ConsoleTest, FirstVariableThatIsSetTellsTheEncoding) {
  EXPECT_FALSE(StreamConsole(terminal_).is_utf8());
  setenv("LANG", "de_DE.UTF-8", 1);
  EXPECT_TRUE(StreamConsole(terminal_).is_utf8());
  setenv("LC_CTYPE", "C", 1);
  EXPECT_FALSE(StreamConsole(terminal_).is_utf8());
  setenv("LC_ALL", "C.utf8", 1);
  EXPECT_TRUE(StreamConsole(terminal_).is_utf8());
}

TEST_F(ConsoleTest, ClockDoesNotGoBack) {
  const StreamConsole console(terminal_);
  const double before = console.now_s();
  EXPECT_GE(console.now_s(), before);
}

}  // namespace
}  // namespace levin
