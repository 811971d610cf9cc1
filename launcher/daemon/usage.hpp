// GPU hours used by runs, for the cap.
#pragma once

#include "launcher/plan/run_outline.hpp"

namespace dllaunch {

/// Returns the GPU hours of a job that held `nodes` nodes on average for `seconds`; node hours if
/// it has no GPUs.
double gpu_hours(const RunOutline& plan, double nodes, double seconds);

}  // namespace dllaunch
