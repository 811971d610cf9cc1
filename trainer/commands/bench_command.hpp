// `dltrain --bench-allreduce`: what `dllaunch bench allreduce` starts on every rank.
#pragma once

#include <string>
#include <vector>

#include "runtime/allreduce/allreduce_bench.hpp"
#include "runtime/rank/rank_env.hpp"
#include "support/result.hpp"

namespace dllaunch {

struct BenchCommand {
  std::string communicator;
  AllReduceBench bench;
  bool json = false;
  std::vector<int> project = {};  // numbers of nodes
};

/// COMMUNICATOR MIN_BYTES MAX_BYTES ITERATIONS table|json [NODES,NODES...]. bad_request: says which
/// one is wrong.
Result<BenchCommand> parse_bench(const std::vector<std::string>& words);

/// Collective; rank 0 prints to stdout. False: a result was wrong.
Result<bool> run_bench(const BenchCommand& command, const RankEnv& env);

}  // namespace dllaunch
