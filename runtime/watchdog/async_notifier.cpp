#include "runtime/watchdog/async_notifier.hpp"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>

namespace dllaunch {
namespace {

constexpr std::size_t most_waiting = 16;
constexpr std::chrono::seconds patience{2};

}  // namespace

struct AsyncNotifier::State {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<StallNotice> waiting;  // the first is being delivered
  bool ending = false;
};

AsyncNotifier::AsyncNotifier(Say say)
    : state_(std::make_shared<State>()),
      thread_("teller", patience, [state = state_, say = std::move(say)] { run(*state, say); }) {}

AsyncNotifier::~AsyncNotifier() {
  {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    state_->ending = true;
  }
  state_->changed.notify_all();
}

void AsyncNotifier::tell(StallNotice notice) {
  {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    if (state_->waiting.size() == most_waiting) return;
    state_->waiting.push_back(std::move(notice));
  }
  state_->changed.notify_all();
}

void AsyncNotifier::run(State& state, const Say& say) {
  std::unique_lock<std::mutex> lock(state.mutex);
  for (;;) {
    state.changed.wait(lock, [&] { return state.ending || !state.waiting.empty(); });
    if (state.waiting.empty()) return;
    const StallNotice notice = state.waiting.front();
    lock.unlock();
    if (say) say(notice);
    lock.lock();
    state.waiting.pop_front();
  }
}

}  // namespace dllaunch
