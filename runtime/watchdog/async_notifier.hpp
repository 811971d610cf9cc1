// Delivers notices on a separate thread: the watchdog must not wait for a blocked terminal or a
// hung file system.
#pragma once

#include <functional>
#include <memory>

#include "runtime/watchdog/watchdog.hpp"
#include "support/abandonable_thread.hpp"

namespace dllaunch {

class AsyncNotifier {
 public:
  using Say = std::function<void(const StallNotice&)>;

  explicit AsyncNotifier(Say say);
  /// Waits at most two seconds for pending notices, then abandons the thread.
  ~AsyncNotifier();
  AsyncNotifier(const AsyncNotifier&) = delete;
  AsyncNotifier& operator=(const AsyncNotifier&) = delete;

  /// Returns at once. Drops the notice if 16 are pending: stalls are reported again later.
  void tell(StallNotice notice);

 private:
  struct State;
  static void run(State& state, const Say& say);
  std::shared_ptr<State> state_;
  AbandonableThread thread_;
};

}  // namespace dllaunch
