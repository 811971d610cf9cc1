#include "trainer/stop_signal.hpp"

#include <atomic>
#include <csignal>

namespace dllaunch {
namespace {

std::atomic<bool> requested{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler writes it");

void request(int) {
  requested.store(true, std::memory_order_relaxed);
}

}  // namespace

void catch_stop_signals(std::string_view another) {
  const int fourth = another == "USR1" ? SIGUSR1 : another == "HUP" ? SIGHUP : SIGUSR2;
  for (const int signal : {SIGUSR2, SIGTERM, SIGINT, fourth}) {
    struct sigaction action {};
    action.sa_handler = request;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    // Launchers repeat their signal and forward it twice; only an impatient person repeats these.
    if (signal == SIGTERM || signal == SIGINT) action.sa_flags |= static_cast<int>(SA_RESETHAND);
    sigaction(signal, &action, nullptr);
  }
}

bool stop_was_requested() {
  return requested.load(std::memory_order_relaxed);
}

}  // namespace dllaunch
