#include "trainer/signal_watch.h"

#include <gtest/gtest.h>

#include <csignal>

namespace levin {
namespace {

TEST(SignalWatchTest, TheFirstSignalIsNotedAndTheOldHandlerComesBack) {
  const auto old = std::signal(SIGTERM, SIG_IGN);
  {
    const SignalWatch watch(/*is_enabled=*/true);
    EXPECT_EQ(SignalWatch::received(), 0);
    std::raise(SIGTERM);
    EXPECT_EQ(SignalWatch::received(), SIGTERM);
    {
      const SignalWatch nested(/*is_enabled=*/true);
      EXPECT_EQ(SignalWatch::received(), SIGTERM);
    }
    EXPECT_EQ(SignalWatch::received(), SIGTERM);
  }
  EXPECT_EQ(SignalWatch::received(), 0);
  EXPECT_EQ(std::signal(SIGTERM, old), SIG_IGN);
}

TEST(SignalWatchTest, ItCanBeOff) {
  const auto old = std::signal(SIGTERM, SIG_IGN);
  {
    const SignalWatch watch(/*is_enabled=*/false);
    std::raise(SIGTERM);
    EXPECT_EQ(SignalWatch::received(), 0);
  }
  std::signal(SIGTERM, old);
}

// Field case B18.
TEST(SignalWatchDeathTest, ASecondInterruptEndsAtOnce) {
  EXPECT_EXIT(
      {
        const SignalWatch watch(/*is_enabled=*/true);
        std::raise(SIGINT);
        std::raise(SIGINT);
      },
      testing::KilledBySignal(SIGINT), "");
}

}  // namespace
}  // namespace levin
