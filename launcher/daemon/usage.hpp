// GPU hours used by runs, for the cap.
#pragma once

#include "launcher/plan/plan.hpp"

namespace dllaunch {

/// GPU hours of a job that held its nodes for so many seconds; of one without GPUs, node hours.
double gpu_hours(const LaunchPlan& plan, double seconds);

}  // namespace dllaunch
