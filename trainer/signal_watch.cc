#include "trainer/signal_watch.h"

#include <array>
#include <atomic>
#include <csignal>

namespace levin {
namespace {

// Handlers can reach nothing but globals.
std::atomic<bool> is_watched = false;
std::atomic<int> first_signal = 0;
static_assert(std::atomic<int>::is_always_lock_free);

constexpr std::array<int, 2> kSignals = {SIGINT, SIGTERM};
std::array<struct sigaction, 2> previous;

extern "C" void note_signal(int signal) {
  int none = 0;
  if (first_signal.compare_exchange_strong(none, signal) || signal != SIGINT) return;
  // The user insists: end as if nobody had listened.
  std::signal(SIGINT, SIG_DFL);
  std::raise(SIGINT);
}

}  // namespace

SignalWatch::SignalWatch(bool is_enabled) {
  if (!is_enabled || is_watched.exchange(true)) return;
  is_active_ = true;
  first_signal = 0;
  struct sigaction action = {};
  action.sa_handler = note_signal;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  for (size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &action, &previous[i]);
}

SignalWatch::~SignalWatch() {
  if (!is_active_) return;
  for (size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &previous[i], nullptr);
  first_signal = 0;
  is_watched = false;
}

int SignalWatch::received() { return first_signal.load(std::memory_order_relaxed); }

}  // namespace levin
