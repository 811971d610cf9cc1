// Follows a run: shows its events as progress, or its ranks' lines, and adds up its totals.
// It does not start, stop or judge the run.
#pragma once

#include <chrono>
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
  bool show_logs = false;                      // show the ranks' lines (`run:` commands, -v)
  bool terminal = false;                       // stderr supports redrawing
  std::optional<std::int64_t> epochs = {};     // requested
  std::optional<std::int64_t> max_steps = {};  // of the training; absent: no limit
  /// Unix seconds. The run started before it was followed; earlier events are shown too.
  std::optional<double> attached_at_s = {};
  bool show_past = true;                     // what happened before it was followed
  std::vector<std::string> plain = {};       // with show_logs: files whose lines are shown too
  std::vector<std::string> components = {};  // of a modular run, whose lines are shown
};

/// Ranks of one run, or component, that ended although others go on.
struct EndedRanks {
  RunDir dir;
  std::string component = {};  // empty: none
  std::string words = {};
  std::chrono::steady_clock::time_point since = {};
  std::string told = {};
};

class Follower {
 public:
  /// Skips output of an earlier run in the directory, except in the totals.
  Follower(System& system, const RunDir& run, const FollowSettings& settings);

  /// Reads and shows what is new, in bounded time and memory. Cheap if there is nothing.
  void poll();
  /// Shows what is waited for while there is no progress.
  void waiting(const std::string& what);
  /// Prints a line of dllaunch itself; not with -q.
  void log(const std::string& line);
  /// Prints an important line, also with -q.
  void say(const std::string& line);
  /// Reads the rest, including unfinished last lines, and removes the live line.
  void finish();

  /// Tells that srun within the job waits on that host, unless a rank's log has told it.
  void say_that_a_step_waits(const std::string& host);
  /// Since the last line or event of the run.
  std::chrono::steady_clock::duration silence() const;

  const RunTotals& totals() const { return totals_; }

 private:
  void read_events();
  void look_at_ranks();
  void take(const Event& event);
  void say_all(const std::vector<std::string>& lines);
  void write(const std::string& text);

  System& system_;
  FollowSettings settings_;
  Progress progress_;
  EventTail events_;
  /// Lines that are there, or the rest.
  std::vector<std::string> fresh_lines(bool rest);
  bool is_behind() const;

  std::vector<RankOutput> outputs_;                  // one for each component
  std::vector<EndedRanks> ended_;                    // likewise
  std::chrono::steady_clock::time_point next_look_;  // at the ranks
  std::chrono::steady_clock::time_point heard_at_ = std::chrono::steady_clock::now();
  bool told_of_step_ = false;
  RunTotals totals_;
};

}  // namespace dllaunch
