// Never a silent hang: a thread of each rank that knows how all ranks stand and speaks up when a
// collective is late. docs/stalls.md tells what it says and when.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/activity/activity.hpp"
#include "runtime/communicators/communicator.hpp"

namespace dllaunch {

enum class StallState {
  late,     // said again after twice the time, as long as it lasts
  over,     //
  gave_up,  // the job ends now
  died,     // a rank; no collective may be late yet
};
std::string_view to_string(StallState state);

struct StallNotice {
  StallState state = StallState::late;
  std::vector<int> late_ranks = {};  // of a communication that is stuck: all
  std::string collective = {};       // "all_reduce #1234 (25.0 MB)"; empty: none
  double seconds = 0;                // since the first rank waits
  std::string line = {};             // for people, without line break
};

struct WatchdogOptions {
  double stall_seconds = 60;
  double stall_abort_seconds = 600;
  std::string host = {};
  /// Called on a thread of its own, by one rank of the job, of a death by one rank of the node.
  std::function<void(const StallNotice&)> say = {};
  /// This process was asked to end: that ranks die now is no news.
  std::function<bool()> ending = [] { return false; };
  /// This process is of no use without the one that started it: the kernel kills it with that one,
  /// even while it is stopped.
  bool end_with_parent = false;
};

class Watchdog {
 public:
  /// Collective, by the thread that trains; through `communicator` at no later time. `activity`
  /// writes where all ranks of the node can read, until this ends.
  static std::unique_ptr<Watchdog> start(WatchdogOptions options, Communicator& communicator,
                                         Activity& activity);
  virtual ~Watchdog() = default;  // this rank says goodbye: nobody waits for it any more
};

}  // namespace dllaunch
