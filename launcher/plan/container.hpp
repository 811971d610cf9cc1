// The ranks' container: what its runtime is called with, and by whom.
//
// Apptainer, Singularity and enroot are started by our shim, which has bound the rank by then; they
// need nothing of ours inside. With Pyxis srun starts the shim itself inside the image.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "launcher/plan/plan.hpp"

namespace dllaunch {

/// Puts plan.start.program into plan.container, or leaves that to srun where plan.pyxis. `gpus`: of
/// the job on a node; `device`: resources.device. bad_request: a path that the runtime's options
/// cannot carry.
Result<Ok> enter_container(int gpus, const std::string& device, LaunchPlan& plan);

/// srun's --container-image and its like; none without plan.pyxis.
std::vector<std::pair<std::string, std::string>> pyxis_options(const LaunchPlan& plan);

/// Where the script brings our shim and the libraries that no image has; only with plan.pyxis.
std::string container_shim(const LaunchPlan& plan);

/// The file in the run's directory into which the script fetches an image that is an address
/// ("docker://..."), once, so that the ranks need not. Empty: there is nothing to fetch.
std::string fetched_image(const LaunchPlan& plan);

}  // namespace dllaunch
