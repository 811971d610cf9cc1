// Everything the ranks of a run write, merged into one text while it is being written.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "launcher/monitor/line_merger.hpp"
#include "launcher/os/line_tail.hpp"
#include "launcher/run/log_line.hpp"

namespace dllaunch {

struct RankOutputSettings {
  bool skip_present = false;            // what the logs already hold is not ours
  bool several = true;                  // ranks: lines need to say whose they are
  std::optional<int> only_rank = {};    // the others' lines are left out, and so is the prefix
  std::vector<std::string> extra = {};  // files that are nobody's: the batch script's own output
};

/// Logs that appear later are found; a log that nobody ends is read on. What is held in memory is
/// bounded by LineTail::longest_line a log and LineMerger's bounds.
class RankOutput {
 public:
  /// A progress bar that redraws itself is shown this often.
  static constexpr double bar_s = 10;

  RankOutput(std::string folder, RankOutputSettings settings);

  /// The lines to show at `now_s`, in any clock.
  std::vector<std::string> poll(double now_s);
  /// Whether poll() or finish() left something unread: call it again at once.
  bool behind() const { return behind_; }
  /// The next part of what is left; the last part has the unfinished last lines.
  std::vector<std::string> finish();

 private:
  struct Log {
    LogSource source;
    LineTail tail;
  };

  void find_logs();
  void add(const std::string& name, const std::string& path, LogSource source);
  void take(const LogSource& source, std::string_view line, double now_s);
  void read(double now_s);
  void show_bar(double now_s);
  std::vector<std::string> shown(std::vector<std::string> merged);

  std::string folder_;
  RankOutputSettings settings_;
  std::map<std::string, Log> logs_;  // by file name
  LineMerger merger_;
  std::vector<std::string> plain_;  // lines that need no merging
  bool behind_ = false;
  bool skipping_ = false;
  double bar_shown_s_ = 0;
  double last_read_s_ = 0;
  double next_read_s_ = 0;
};

}  // namespace dllaunch
