// The ranks' logs in RUN/out, looked at after the end.
#pragma once

#include <string>
#include <vector>

#include "launcher/run/failure.hpp"
#include "launcher/run/run_dir.hpp"

namespace dllaunch {

struct LogExcerpt {
  std::string path = {};  // empty: no log says anything
  std::vector<std::string> lines = {};
  bool has_error = false;  // among the lines
};

/// The log of the rank that died. When nobody knows which, or it left by its own exit code without
/// a word (ranks that meet the same error leave together and one of them speaks, in no fixed
/// order): the newest one with an error in it.
LogExcerpt excerpt_of(const RunDir& run, const DeadRank& dead, std::size_t most_lines);

/// The last `most` bytes of a file, from a line's beginning; empty when it cannot be read.
std::string file_end(const std::string& path, std::size_t most);

/// The host in a log's name; empty when it is not one.
std::string host_of_log(const std::string& path);

/// The host that the newest log of this rank names; empty where it has none.
std::string host_of_rank(const RunDir& run, int rank);

/// "rank-0003-n1.log", the host made safe for a file name.
std::string rank_log_name(int rank, const std::string& host);

}  // namespace dllaunch
