// Rendering: a topology or a placement as text for people, srun, mpirun, numactl and scripts.
// Decides nothing and starts nothing: every placement comes from topology/placement.
//
// srun's options, the JSON of `bind --json` and the table for people.
#pragma once

#include <string>

#include "support/json.hpp"
#include "topology/placement/placement.hpp"

namespace dllaunch {

/// "mask_cpu:0xfe,0xfe00", in local-rank order; "none" for policy none.
std::string srun_cpu_bind(const Placement& placement);
/// "map_cpu:1,9": each rank's first CPU.
std::string srun_map_cpu(const Placement& placement);
/// "prefer,local" if every rank's CPUs lie on one NUMA node with its own memory, else "none". Plain
/// "local" is strict: a rank that outgrows its node is killed. "prefer" takes only one node, and
/// without any option Linux allocates on the node that first touches the page.
std::string srun_mem_bind(const Topology& topology, const Placement& placement);

/// Returns the document of `bind --json`.
Json to_json(const Topology& topology, const Placement& placement);
/// A table for people: rank, GPU, CPUs, mask, NUMA, NIC, why; warnings below.
std::string render_placement(const Topology& topology, const Placement& placement);

}  // namespace dllaunch
