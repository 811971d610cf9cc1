// One placement in the words of the programs that can apply it. Pure.
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
  bool visible_devices = false;                    // env, script: each rank sees its own GPUs only
};

struct Rendering {
  std::string text = {};
  std::vector<std::string> notes = {};  // what this form cannot say, or costs; in sentences
};

/// table: as render_placement(), its warnings in the text.
/// srun: the options, on one line.
/// rankfile: Open MPI 4, physical numbers; start it as the comment on top says.
/// numactl, taskset, hwloc-bind, env: what to write before the command of each rank, one line a
/// rank in local-rank order. With policy none the first three are empty lines: nothing to bind.
/// script: a batch script that binds with srun and runs its arguments.
///
/// Memory is preferred on the rank's NUMA node, never demanded: strict binding kills a rank that
/// outgrows its node.
Rendering render_binding(BindFormat format, const Topology& topology, const Placement& placement,
                         const RenderingOptions& options);

}  // namespace dllaunch
