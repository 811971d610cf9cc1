#include "trainer/training/timeline_signal.hpp"

#include <csignal>

#include "support/signal_stack.hpp"

namespace dllaunch {
namespace {

std::atomic<unsigned> switches{0};
static_assert(std::atomic<unsigned>::is_always_lock_free, "a signal handler writes it");

void add_one(int) {
  switches.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

const std::atomic<unsigned>& catch_timeline_signal() {
  handle_signal(SIGUSR1, add_one);
  return switches;
}

}  // namespace dllaunch
