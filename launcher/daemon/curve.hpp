// A run's progress as a bounded number of points.
#pragma once

#include <string>
#include <vector>

#include "launcher/run/events.hpp"

namespace dllaunch {

struct Curve {
  std::vector<StepEvent> steps;
  std::vector<EpochEvent> epochs;
};

/// Of a file of up to 1 MiB at most `most` of its steps, evenly, and all its epochs; of a longer
/// one what stands at `most` places of it, at most 4 KiB each: the work does not grow with the run.
Curve read_curve(const std::string& events_path, std::size_t most);

}  // namespace dllaunch
