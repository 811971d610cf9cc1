// The commands of dltrain: `--bench-allreduce` (here), `--make-data`, and training (main.cpp).
// They parse arguments and print results; other rooms do the work.
//
// `dllaunch bench allreduce` starts `dltrain --bench-allreduce` on every rank.
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

/// Parses COMMUNICATOR MIN_BYTES MAX_BYTES ITERATIONS table|json [NODES,NODES...]. bad_request
/// names the invalid one.
Result<BenchCommand> parse_bench(const std::vector<std::string>& words);

/// Collective; rank 0 prints to stdout. Returns false if a result was wrong.
Result<bool> run_bench(const BenchCommand& command, const RankEnv& env);

}  // namespace dllaunch
