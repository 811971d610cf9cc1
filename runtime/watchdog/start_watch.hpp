// Reports ranks that do not find each other, before the watchdog runs.
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
  /// Receives a line for people, from this rank alone: set it on one rank per node. May be empty.
  std::function<void(const std::string& line)> say = {};
  /// Called after stall_abort_seconds. Must not return.
  std::function<void(const std::string& why)> give_up = {};
};

/// Runs from before the ranks connect (MPI_Init) until it is destroyed. Reports after
/// stall_seconds, and whenever that time has doubled, that it is waiting for the others to start.
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
