#include "support/abandonable_thread.hpp"

#include <sys/prctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "support/all_signals_blocked.hpp"

namespace dllaunch {
namespace {

/// Handlers run in the reverse order of their registration: this one before the destructors of all
/// static objects made so far.
void leave_static_objects_alone() {
  static_cast<void>(::on_exit(
      [](int status, void*) {
        // The thread may hang in a write with stdout locked.
        if (::ftrylockfile(stdout) == 0) ::fflush_unlocked(stdout);
        ::_exit(status);
      },
      nullptr));
}

}  // namespace

AbandonableThread::AbandonableThread(const char* name, std::chrono::milliseconds patience,
                                     std::function<void()> body)
    : patience_(patience) {
  std::packaged_task<void()> task([name, body = std::move(body)]() noexcept {
    ::prctl(PR_SET_NAME, name);
    body();
  });
  ended_ = task.get_future();
  const AllSignalsBlocked blocked;
  thread_ = std::thread(std::move(task));
}

AbandonableThread::~AbandonableThread() {
  if (ended_.wait_for(patience_) == std::future_status::ready) {
    thread_.join();
    return;
  }
  thread_.detach();
  leave_static_objects_alone();
}

}  // namespace dllaunch
