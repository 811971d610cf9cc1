// The sizes of a study as changes of its job file. Pure.
#pragma once

#include <string>
#include <vector>

#include "launcher/job/job.hpp"
#include "launcher/plan/plan.hpp"
#include "launcher/study/scaling_fit.hpp"
#include "support/result.hpp"

namespace dllaunch {

/// One of `ranks` and `nodes` is given.
struct SizesWanted {
  std::vector<int> ranks = {};
  std::vector<int> nodes = {};
  Scaling scaling = Scaling::strong;
  int ranks_as_written = 0;  // of the job, whose global batch is kept; 0: the plan's
};

struct StudySize {
  int ranks = 1;
  int nodes = 1;
  std::vector<std::string> sets = {};  // KEY.PATH=VALUE, as --set takes them
};

/// The largest size comes first: what does not fit is known soonest. Up to a whole node of ranks
/// runs on one node, more on several full ones. `plan` says how many ranks a node has, and the
/// cores and GPUs of a rank.
///
/// bad_request: a number twice or below 1; more than a node's ranks that fill no whole nodes; fewer
/// ranks than share a GPU; with `train:` and strong scaling, a global batch that the ranks cannot
/// divide. Each is named.
Result<std::vector<StudySize>> sizes_of(const SizesWanted& wanted, const Job& job,
                                        const LaunchPlan& plan);

}  // namespace dllaunch
