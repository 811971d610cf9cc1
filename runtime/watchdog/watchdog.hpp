// Watchdog: names the ranks that hold up the others, from a thread in each rank.
// Does not end a hang by itself before stall_abort_seconds, and sends nothing through MPI.
//
// docs/explanation/stalls.md describes its messages.
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
  late,  // repeated whenever the time has doubled, while it lasts
  over,
  gave_up,  // the job ends now
  died,     // a rank; perhaps no collective is late yet
};
std::string_view to_string(StallState state);

struct StallNotice {
  StallState state = StallState::late;
  std::vector<int> late_ranks = {};  // all, if the communication is stuck
  std::string collective = {};       // as collective_text(); may be empty
  double seconds = 0;                // since the first rank began to wait
  std::string line = {};             // for people, without line break
};

struct WatchdogOptions {
  double stall_seconds = 60;
  double stall_abort_seconds = 600;
  std::string host = {};
  /// Of ranks with collectives of their own (CollectiveScope::group).
  int group = 0;
  /// Called on a separate thread, by one rank of the job; for a death, by one rank of the node.
  std::function<void(const StallNotice&)> say = {};
  /// Whether this process was asked to end: then dying ranks are no news.
  std::function<bool()> ending = [] { return false; };
  /// The kernel kills this process when its parent ends, even while it is stopped.
  bool end_with_parent = false;
};

class Watchdog {
 public:
  /// Collective, on the training thread; does not use `communicator` after that. `activity` writes
  /// where all ranks of the node can read, until this object is destroyed.
  static std::unique_ptr<Watchdog> start(WatchdogOptions options, Communicator& communicator,
                                         Activity& activity);
  virtual ~Watchdog() = default;  // this rank leaves: the others no longer wait for it
};

}  // namespace dllaunch
