// A placement as other programs want it: srun's options, and the JSON of `bind --json`.
#pragma once

#include <string>

#include "support/json.hpp"
#include "topology/placement/placement.hpp"

namespace dllaunch {

/// "mask_cpu:0xfe,0xfe00", in local-rank order; "none" for policy none.
std::string srun_cpu_bind(const Placement& placement);
/// "map_cpu:1,9": each rank's first CPU.
std::string srun_map_cpu(const Placement& placement);
/// "prefer,local" where every rank's CPUs lie on one NUMA node with memory of its own, else "none".
/// Plain "local" is strict: a rank that outgrows its node is killed. Preferring knows one node
/// only, and without any option Linux allocates where a page is first touched.
std::string srun_mem_bind(const Topology& topology, const Placement& placement);

/// contract.md `bind --json`.
Json to_json(const Topology& topology, const Placement& placement);
/// A table for people: rank, GPU, CPUs, mask, NUMA, NIC, why; warnings below.
std::string render_placement(const Topology& topology, const Placement& placement);

}  // namespace dllaunch
