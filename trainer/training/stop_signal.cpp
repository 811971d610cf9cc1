#include "trainer/training/stop_signal.hpp"

#include <atomic>
#include <csignal>

#include "support/signal_stack.hpp"

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
    // Launchers repeat and forward their own signal; SIGTERM and SIGINT are repeated only by
    // people.
    const bool once = signal == SIGTERM || signal == SIGINT;
    handle_signal(signal, request, once ? static_cast<int>(SA_RESETHAND) : 0);
  }
}

bool stop_was_requested() {
  return requested.load(std::memory_order_relaxed);
}

}  // namespace dllaunch
