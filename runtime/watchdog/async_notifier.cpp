#include "runtime/watchdog/async_notifier.hpp"

#include <sys/prctl.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "support/all_signals_blocked.hpp"

namespace dllaunch {
namespace {

constexpr std::size_t most_waiting = 16;
constexpr std::chrono::seconds patience{2};

}  // namespace

struct AsyncNotifier::State {
  Say say;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<StallNotice> waiting;  // the first is being delivered
  bool ending = false;
  bool ended = false;
};

AsyncNotifier::AsyncNotifier(Say say) : state_(std::make_shared<State>()) {
  state_->say = std::move(say);
  const AllSignalsBlocked blocked;
  std::thread([state = state_] { run(state); }).detach();
}

AsyncNotifier::~AsyncNotifier() {
  std::unique_lock<std::mutex> lock(state_->mutex);
  state_->ending = true;
  state_->changed.notify_all();
  state_->changed.wait_for(lock, patience, [this] { return state_->ended; });
}

void AsyncNotifier::tell(StallNotice notice) {
  {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    if (state_->waiting.size() == most_waiting) return;
    state_->waiting.push_back(std::move(notice));
  }
  state_->changed.notify_all();
}

void AsyncNotifier::run(const std::shared_ptr<State>& state) {
  ::prctl(PR_SET_NAME, "teller");
  std::unique_lock<std::mutex> lock(state->mutex);
  for (;;) {
    state->changed.wait(lock, [&] { return state->ending || !state->waiting.empty(); });
    if (state->waiting.empty()) break;
    const StallNotice notice = state->waiting.front();
    lock.unlock();
    if (state->say) state->say(notice);
    lock.lock();
    state->waiting.pop_front();
  }
  state->ended = true;
  state->changed.notify_all();
}

}  // namespace dllaunch
