// Merges the stacks of all ranks: who does the same, and who is the odd one. Pure.
// As STAT does it (Arnold et al., "Stack Trace Analysis for Large Scale Debugging", 2007): a prefix
// tree of frames with sets of ranks.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "launcher/autopsy/odd_rank.hpp"
#include "launcher/autopsy/stacks.hpp"

namespace dllaunch {

struct StackReport {
  std::vector<StackGroup> groups = {};  // the largest first
  std::vector<OddRank> odd = {};        // by rank
  std::vector<NodeStacks> nodes = {};
  std::vector<std::pair<std::string, std::string>> unanswered = {};  // node, why
};

StackReport merge_stacks(std::vector<NodeStacks> nodes);

/// "rank 63 on n8 is in DataLoader._try_get_data (fetch.py:54); 127 others wait in all_reduce"
/// Empty: no rank is odd.
std::string stack_sentence(const StackReport& report);

/// The sentence, the other odd ranks, and a tree of frames, each with the ranks that are in it:
/// "0-62,64-127".
std::string render_stacks(const StackReport& report);

/// See docs/how-to/stacks.md: `groups`, `odd`, `nodes`, `unanswered`.
Json to_json(const StackReport& report);

}  // namespace dllaunch
