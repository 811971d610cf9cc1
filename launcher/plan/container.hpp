// The ranks' container: how its runtime is called, and what calls it. Apptainer, Singularity and
// enroot are started by the shim, which has bound the rank by then, and need nothing of dllaunch
// inside. With Pyxis, srun starts the shim inside the image.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "support/result.hpp"

namespace dllaunch {

struct LaunchPlan;

/// Puts plan.start.program into plan.container, or leaves that to srun if plan.pyxis. `gpus`: per
/// node, of the job; `device`: resources.device. bad_request: the runtime's options cannot express
/// a path.
Result<Ok> enter_container(int gpus, const std::string& device, LaunchPlan& plan);

/// srun's --container-image and related options; empty without plan.pyxis.
std::vector<std::pair<std::string, std::string>> pyxis_options(const LaunchPlan& plan);

/// Where the script copies the shim and the libraries that images lack; only with plan.pyxis.
std::string container_shim(const LaunchPlan& plan);

/// The file in the run directory to which the script fetches a remote image ("docker://..."), once
/// for all ranks. Empty: nothing to fetch.
std::string fetched_image(const LaunchPlan& plan);

}  // namespace dllaunch
