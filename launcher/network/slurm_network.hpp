// Asks Slurm for the network that it schedules by.
#pragma once

#include <string>

#include "launcher/os/system.hpp"
#include "support/json.hpp"
#include "topology/network/network.hpp"

namespace dllaunch {

/// What `scontrol show topology` tells, of Slurm's `version` if that is known. No network if none
/// is configured, or if Slurm is absent or does not answer: that is no error.
Network slurm_network(System& system, const std::string& version = "");

/// The same, else what the cluster's profile describes in `block`; null: nothing.
Network job_network(System& system, const Json& block);

}  // namespace dllaunch
