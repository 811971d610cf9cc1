// Pre-flight before a restart: which of the allocation's nodes are fit for ranks.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "launcher/preflight/preflight.hpp"

namespace dllaunch {

struct NodeFitness {
  std::vector<std::string> fit = {};  // in the allocation's order
  std::vector<std::string> unfit = {};
  std::vector<std::string> silent = {};  // of the above: did not answer
  std::string why = {};  // "n2: folders (run directory): create: Read-only file system; n3: ..."
  double seconds = 0;
};

using LookAtNodes = std::function<Result<PreflightReport>(const PreflightRequest&)>;

/// A node that fails is looked at twice: what was a moment's work of somebody else is gone then.
/// One that did not answer at all has had its time. What all nodes fail alike is no node's fault.
/// Errors are pre-flight's own: nothing was found out.
Result<NodeFitness> judge_fitness(const PreflightRequest& request, const LookAtNodes& look);

/// Of the allocation that this process stands in, but for `gone`, whom nobody asks: a step there
/// would hang. Nothing: it is of one node, which has no other to be left out for.
Result<std::optional<NodeFitness>> look_for_fit_nodes(System& system, const std::string& run_dir,
                                                      const std::vector<std::string>& gone);

/// They are gone, says Slurm.
void leave_out(const std::vector<std::string>& gone, NodeFitness& fitness);

}  // namespace dllaunch
