// Shows a run while it goes: its events as progress, or its ranks' lines; and keeps the sums.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/monitor/progress.hpp"
#include "launcher/monitor/rank_output.hpp"
#include "launcher/os/system.hpp"
#include "launcher/run/events.hpp"
#include "launcher/run/run_dir.hpp"
#include "launcher/run/summary.hpp"

namespace dllaunch {

struct FollowSettings {
  int ranks = 1;
  bool show_logs = false;                   // the ranks' lines as they come (`run:` commands, -v)
  bool terminal = false;                    // stderr may be redrawn
  std::optional<std::int64_t> epochs = {};  // asked for
  /// Unix seconds: the run began without us then, and what happened since is shown as well.
  std::optional<double> attached_at_s = {};
};

class Follower {
 public:
  /// What the directory already holds of an earlier run is skipped, but for what its events sum to.
  Follower(System& system, const RunDir& run, const FollowSettings& settings);

  /// Reads what is new and shows it, in bounded time and memory. Cheap when nothing is.
  void poll();
  /// What we wait for, in place of progress that is not there yet.
  void waiting(const std::string& what);
  /// A line of our own among the progress; not with -q.
  void log(const std::string& line);
  /// The same for what nobody should miss: with -q too.
  void say(const std::string& line);
  /// Reads everything that is left, unfinished last lines included, and takes the live line away.
  void finish();

  const RunTotals& totals() const { return totals_; }

 private:
  void read_events();
  void take(const Event& event);
  void say_all(const std::vector<std::string>& lines);
  void write(const std::string& text);

  System& system_;
  FollowSettings settings_;
  Progress progress_;
  EventTail events_;
  RankOutput output_;
  RunTotals totals_;
};

}  // namespace dllaunch
