// Which of this machine's GPUs the variables of this process leave it.
#pragma once

#include <optional>

#include "launcher/os/system.hpp"
#include "topology/node/topology.hpp"

namespace dllaunch {

/// `node`, this machine, with only the GPUs that CUDA_VISIBLE_DEVICES and the like name, in their
/// order. nullopt: it cannot be told which these are, as where a container or a job step numbers
/// its GPUs anew.
std::optional<Topology> with_own_gpus(System& system, Topology node);

}  // namespace dllaunch
