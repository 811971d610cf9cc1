// Until the watchdog runs: ranks that do not find each other are not waited for in silence.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace dllaunch {

struct StartWatchOptions {
  double stall_seconds = 60;
  double stall_abort_seconds = 600;
  /// Of a line for people, by this rank alone: one of each node is enough. May be empty.
  std::function<void(const std::string& line)> say = {};
  /// When it has lasted for stall_abort_seconds. Must not return.
  std::function<void(const std::string& why)> give_up = {};
};

/// From before the ranks meet (MPI_Init) until it is destroyed. Says after stall_seconds, and again
/// after twice the time, that it waits for the others to start.
class StartWatch {
 public:
  explicit StartWatch(StartWatchOptions options);
  ~StartWatch();
  StartWatch(const StartWatch&) = delete;
  StartWatch& operator=(const StartWatch&) = delete;

 private:
  void run();

  StartWatchOptions options_;
  std::mutex mutex_;
  std::condition_variable started_;
  bool has_started_ = false;
  std::thread thread_;
};

}  // namespace dllaunch
