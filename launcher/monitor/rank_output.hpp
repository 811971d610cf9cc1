// Everything a run's ranks write, merged while it is written.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "launcher/monitor/line_merger.hpp"
#include "launcher/os/line_tail.hpp"
#include "launcher/run/log_line.hpp"

namespace dllaunch {

struct RankOutputSettings {
  bool skip_present = false;            // skip what the logs already hold
  bool several = true;                  // several ranks: label lines with their rank
  std::string component = {};           // before the lines' labels; empty: none
  std::optional<int> only_rank = {};    // show only this rank, without labels
  std::vector<std::string> extra = {};  // files without a rank: the batch script's output
  std::vector<std::string> plain = {};  // the same, shown without labels
  /// Unix seconds. Skips logs not written since, and lines that begin with an earlier time, with
  /// those that follow them. A log without times is shown whole.
  std::optional<double> since_s = {};
};

/// Finds logs that appear later. Memory is bounded by LineTail::longest_line per log and the limits
/// of LineMerger.
class RankOutput {
 public:
  /// Interval at which a redrawn progress bar is shown.
  static constexpr double bar_s = 10;

  RankOutput(std::string folder, RankOutputSettings settings);

  /// Returns the lines to show at `now_s`, in any clock.
  std::vector<std::string> poll(double now_s);
  /// Returns the next part of what is there, whole lines only, without waiting for equal ones.
  std::vector<std::string> present();
  /// Whether poll(), present() or finish() left unread data: call it again at once.
  bool behind() const { return behind_; }
  /// The first rank whose srun waits for the job's own resources; nullopt: none has.
  const std::optional<LogSource>& waits_for_step() const { return waits_for_step_; }
  /// Returns the next part of the rest; the last part includes unfinished lines.
  std::vector<std::string> finish();

 private:
  struct Log {
    LogSource source;
    LineTail tail;
  };

  void find_logs();
  void add(const std::string& name, const std::string& path, LogSource source);
  void take(const LogSource& source, std::string_view line, double now_s);
  bool is_older(const LogSource& source, const LabelledLine& line);
  void read(double now_s);
  void show_bar(double now_s);
  std::vector<std::string> shown(std::vector<std::string> merged);

  std::string folder_;
  RankOutputSettings settings_;
  std::map<std::string, Log> logs_;  // by file name
  LineMerger merger_;
  std::vector<std::string> plain_;                     // lines not to be merged
  std::map<std::pair<std::string, int>, bool> older_;  // by node and rank: its last time
  std::optional<LogSource> waits_for_step_;
  bool behind_ = false;
  bool skipping_ = false;
  double bar_shown_s_ = 0;
  double last_read_s_ = 0;
  double next_read_s_ = 0;
};

}  // namespace dllaunch
