#include "trainer/timeline_signal.hpp"

#include <csignal>

namespace dllaunch {
namespace {

std::atomic<unsigned> switches{0};
static_assert(std::atomic<unsigned>::is_always_lock_free, "a signal handler writes it");

void add_one(int) {
  switches.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

const std::atomic<unsigned>& catch_timeline_signal() {
  struct sigaction action {};
  action.sa_handler = add_one;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGUSR1, &action, nullptr);
  return switches;
}

}  // namespace dllaunch
