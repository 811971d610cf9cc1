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

/// Reads a file of up to 1 MiB in full and returns at most `most` evenly spaced steps and all
/// epochs. Of a longer file it samples `most` places, at most 4 KiB each. The work does not grow
/// with the run.
Curve read_curve(const std::string& events_path, std::size_t most);

}  // namespace dllaunch
