// Pre-flight before a restart: which of the allocation's nodes are fit for ranks.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/preflight/preflight.hpp"

namespace dllaunch {

struct NodeFitness {
  std::vector<std::string> fit = {};  // in the allocation's order
  std::vector<std::string> unfit = {};
  std::vector<std::string> silent = {};  // of the above: did not answer
  std::string why = {};  // "n2: folders (run directory): create: Read-only file system; n3: ..."
  double seconds = 0;
  std::vector<NodeVerdict> verdicts = {};  // of the first look
};

using LookAtNodes = std::function<Result<PreflightReport>(const PreflightRequest&)>;

/// Returns the fit nodes. A node that fails is checked twice, which excludes short interference. A
/// node that did not answer is not asked again. A failure common to all nodes counts against none.
/// Errors are those of pre-flight itself: no node was judged.
Result<NodeFitness> judge_fitness(const PreflightRequest& request, const LookAtNodes& look);

/// Checks the nodes of the current allocation. Nodes in `gone` are skipped: a step there would
/// hang. nullopt: the allocation has one node, which cannot be left out.
Result<std::optional<NodeFitness>> look_for_fit_nodes(System& system, const std::string& run_dir,
                                                      const std::vector<std::string>& gone);

inline constexpr std::string_view slurm_lost_it = "Slurm reports it lost";
inline constexpr std::string_view does_not_answer = "does not answer";

/// Removes nodes. `why`: one of these.
void leave_out(const std::vector<std::string>& nodes, std::string_view why, NodeFitness& fitness);

}  // namespace dllaunch
