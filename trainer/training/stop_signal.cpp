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

void catch_warnings(std::string_view another) {
  const int fourth = another == "USR1" ? SIGUSR1 : another == "HUP" ? SIGHUP : SIGUSR2;
  // Launchers repeat and forward their own signal.
  for (const int signal : {SIGUSR2, fourth}) handle_signal(signal, request, 0);
}

void catch_stop_signals(std::string_view another) {
  catch_warnings(another);
  // Repeated only by people.
  for (const int signal : {SIGTERM, SIGINT})
    handle_signal(signal, request, static_cast<int>(SA_RESETHAND));
}

bool stop_was_requested() {
  return requested.load(std::memory_order_relaxed);
}

}  // namespace dllaunch
