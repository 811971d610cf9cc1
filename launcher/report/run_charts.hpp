// The drawings of a run: its curves, its ranks' times, its GPUs, its starts. Pure.
#pragma once

#include <vector>

#include "launcher/drawing/heat_map.hpp"
#include "launcher/drawing/line_chart.hpp"
#include "launcher/drawing/time_bars.hpp"
#include "launcher/report/rank_times.hpp"
#include "launcher/report/run_series.hpp"

namespace dllaunch {

/// Loss, accuracy, throughput and learning rate, as far as anything is known.
std::vector<LineChart> curves_of(const RunSeries& series);

/// Utilisation, memory, power, clock, temperature and throttling per epoch: the median over ranks,
/// with the least and the most.
std::vector<LineChart> gpu_charts_of(const RunSeries& series);

/// Seconds per epoch of each rank, by what it did; and those for which others waited for it.
std::vector<HeatMap> heat_maps_of(const RankTimes& times);

/// A row per start, for a run that started more than once; else no rows.
TimeBars starts_of(const RunSeries& series);

}  // namespace dllaunch
