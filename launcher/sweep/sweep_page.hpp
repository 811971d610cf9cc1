// A sweep as a page.
#pragma once

#include <string>
#include <vector>

#include "launcher/drawing/line_chart.hpp"
#include "launcher/drawing/page.hpp"
#include "launcher/sweep/space.hpp"
#include "launcher/sweep/sweep.hpp"

namespace dllaunch {

/// The metric of each trial, and the best so far.
LineChart trials_chart(const Sweep& sweep);

/// The metric over epochs, of the best trials; nothing to draw if none has two epochs.
LineChart epochs_chart(const Sweep& sweep);

/// The metric over each parameter that is a number, at most eight.
std::vector<LineChart> parameter_charts(const Sweep& sweep, const std::vector<Parameter>& space);

Page sweep_page(const Sweep& sweep, const std::vector<Parameter>& space, const std::string& dir);

}  // namespace dllaunch
