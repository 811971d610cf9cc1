// A thread that says things which may take their time: the watchdog's own must not wait for a
// terminal that nobody reads or a file system that hangs.
#pragma once

#include <functional>
#include <memory>

#include "runtime/watchdog/watchdog.hpp"

namespace dllaunch {

class AsyncNotifier {
 public:
  using Say = std::function<void(const StallNotice&)>;

  explicit AsyncNotifier(Say say);
  /// Waits for what is still to be said, two seconds at most; then the thread is left behind, with
  /// what it needs.
  ~AsyncNotifier();
  AsyncNotifier(const AsyncNotifier&) = delete;
  AsyncNotifier& operator=(const AsyncNotifier&) = delete;

  /// At once. What comes while 16 notices wait is lost: they are said again, and longer.
  void tell(StallNotice notice);

 private:
  struct State;
  static void run(const std::shared_ptr<State>& state);
  std::shared_ptr<State> state_;
};

}  // namespace dllaunch
