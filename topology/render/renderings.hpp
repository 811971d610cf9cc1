// Renders a placement for the programs that can apply it. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "topology/placement/placement.hpp"

namespace dllaunch {

enum class BindFormat { table, srun, rankfile, numactl, taskset, hwloc_bind, env, script };
Result<BindFormat> parse_bind_format(std::string_view word);

struct RenderingOptions {
  std::vector<std::string> hosts = {"localhost"};  // rankfile: the nodes, in rank order
  bool visible_devices = false;                    // env, script: each rank sees only its own GPUs
};

struct Rendering {
  std::string text = {};
  std::vector<std::string> notes = {};  // sentences: what this format cannot express, or costs
};

/// table: as render_placement(), including its warnings.
/// srun: the options, on one line.
/// rankfile: Open MPI 4, physical numbers; the comment at its top says how to use it.
/// numactl, taskset, hwloc-bind, env: the prefix of each rank's command, one line per rank in
/// local-rank order. With policy none the first three are empty lines: nothing to bind.
/// script: a batch script that binds with srun and runs its arguments.
///
/// Memory is preferred on the rank's NUMA node, never required: strict binding kills a rank that
/// outgrows its node.
Rendering render_binding(BindFormat format, const Topology& topology, const Placement& placement,
                         const RenderingOptions& options);

}  // namespace dllaunch
