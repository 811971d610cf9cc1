// The curves of several runs on one picture. Pure.
#pragma once

#include <span>
#include <vector>

#include "launcher/compare/compared_run.hpp"
#include "launcher/drawing/line_chart.hpp"

namespace dllaunch {

/// A chart per metric over epochs, and one over wall-clock time, a curve a run. Without those in
/// which nothing is drawn.
std::vector<LineChart> compared_curves(std::span<const ComparedRun> runs);

/// Of studies: values over ranks, a chart per unit, and efficiency.
std::vector<LineChart> compared_scaling(std::span<const ComparedRun> runs);

}  // namespace dllaunch
