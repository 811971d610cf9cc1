// A thread whose work may hang for ever, in a driver or a file system, and must not hang its
// process.
#pragma once

#include <chrono>
#include <functional>
#include <future>
#include <thread>

namespace dllaunch {

class AbandonableThread {
 public:
  /// Runs `body` with all signals blocked. `body` owns what it uses, except static objects.
  /// `name`: for ps -L, at most 15 characters.
  AbandonableThread(const char* name, std::chrono::milliseconds patience,
                    std::function<void()> body);
  /// The caller has told `body` to end. Waits for that, at most for `patience`, then leaves the
  /// thread behind. exit() and main()'s return then skip the destructors of static objects, which
  /// the thread may be using; the exit code stays, and stdout is flushed.
  ~AbandonableThread();
  AbandonableThread(const AbandonableThread&) = delete;
  AbandonableThread& operator=(const AbandonableThread&) = delete;

 private:
  std::chrono::milliseconds patience_;
  std::future<void> ended_;
  std::thread thread_;
};

}  // namespace dllaunch
