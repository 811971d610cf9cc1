// The messages about late ranks.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "runtime/watchdog/judgement.hpp"

namespace dllaunch {

/// "all_reduce #1234 (25.0 MB)", "all_reduce #9 (25.0 MB) of ranks 2-3", "message of rank 2 to rank
/// 0"; empty if no rank has data.
std::string collective_text(const Verdict& verdict);

/// The ranks that the line names one by one, so their activity is worth asking for.
std::vector<int> ranks_to_describe(const Verdict& verdict);

struct StallContext {
  Verdict verdict = {};
  std::vector<RankState> ranks = {};      // all
  std::vector<std::string> hosts = {};    // by rank
  std::map<int, std::string> doing = {};  // a stack, or the kernel's view
};

/// "stall: all_reduce #1234 (25.0 MB) is 61 s late: rank 3 on n1 is stopped (backward, step 812);
/// rank 5 on n2 has not arrived (data for 63 s, step 812): poll < read_batch". "stall: rank 0 has
/// waited 61 s for rank 2: rank 3 on n1 holds up rank 2: it has been in forward for 61 s, step 812:
/// poll < f". About 3500 characters at most, in one line, however many ranks are late.
std::string stall_line(const StallContext& scene);

/// "stall: all_reduce #1234 (25.0 MB) continued after 75 s", "stall: rank 0 continued after it had
/// waited 75 s for rank 2"
std::string over_line(const Verdict& verdict);

/// "rank 3 on n1 died of SIGKILL in backward, step 812"
std::string death_line(const RankState& state, const std::string& host, const std::string& how);

/// "5.2 s", "61 s"
std::string seconds_text(std::int64_t ns);

}  // namespace dllaunch
