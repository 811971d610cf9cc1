// Reads the ranks' logs in RUN/out after the run has ended.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "launcher/run/events.hpp"
#include "launcher/run/failure.hpp"
#include "launcher/run/run_dir.hpp"

namespace dllaunch {

struct LogExcerpt {
  std::string path = {};  // empty: no log has content
  std::vector<std::string> lines = {};
  bool has_error = false;  // an error is among the lines
};

/// Returns an excerpt from the log of the rank that died. If the rank is unknown, or exited with a
/// code but logged no error, uses the newest log with an error: ranks that hit the same error exit
/// together, and only one of them reports it.
LogExcerpt excerpt_of(const RunDir& run, const DeadRank& dead, std::size_t most_lines);

/// Returns the last `most` bytes of a file, from the start of a line; empty if unreadable.
std::string file_end(const std::string& path, std::size_t most);

/// Unix seconds of a file's last change; 0: no file.
double changed_at_s(const std::string& path);

/// Returns the host in a log's name; empty if it is not a log name.
std::string host_of_log(const std::string& path);

/// Returns the host in the name of the rank's newest log; empty: none.
std::string host_of_rank(const RunDir& run, int rank);

/// "rank 1 on n2 held up the others for 12 s in all_reduce #296 (40 B)", of a stall whose late
/// ranks are known; empty: they are not.
std::string words_of_late_ranks(const RunDir& run, const StallEvent& stall);

/// Returns the hosts on which the ranks ran last, as a host list; empty: no rank has a log.
std::string hosts_of_ranks(const RunDir& run);

/// How many bytes the logs have, by file name.
using LogSizes = std::map<std::string, std::uint64_t>;
LogSizes sizes_of_logs(const RunDir& run);

/// Calls look(line) for every line of a rank, of a run that has ended, from byte `from` of each log
/// on. A rank that continued on another node has several logs: the one written last comes last.
/// Also in logs of a whole node, which name the rank before each line. unavailable: the file system
/// does not give a log.
Result<Ok> for_each_line_of_rank(const RunDir& run, int rank, const LogSizes& from,
                                 const std::function<void(const std::string&)>& look);

/// Returns "rank-0003-n1.log", with the host made safe for a file name.
std::string rank_log_name(int rank, const std::string& host);

}  // namespace dllaunch
