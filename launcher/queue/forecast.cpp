#include "launcher/queue/forecast.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace dllaunch {
namespace {

/// bench/queue/slices: where a chain of slices was estimated to end so much sooner, it did in most
/// of the moments, and below that in few.
constexpr double slices_must_gain = 0.25;

double seconds_asked(const Shape& shape) {
  return 60.0 * shape.least_minutes.value_or(shape.limit_minutes);
}

double weighed(const Forecast& one, double now_s) {
  const double takes = one.finish_s - now_s;
  return one.shape.slices > 1 ? takes / (1 - slices_must_gain) : takes;
}

std::optional<double> finite(double time_s) {
  return std::isfinite(time_s) ? std::optional(time_s) : std::nullopt;
}

/// Whether Slurm puts it before some of what waits.
bool goes_ahead(double slurm_s, const Shape& shape, const NodeForecast& nodes, double now_s) {
  const int count = shape.nodes + shape.spare_nodes;
  const double behind_all_s =
      nodes.running.earliest(count, seconds_asked(shape), now_s) + nodes.waiting_s;
  return slurm_s + near_s < behind_all_s || slurm_s <= now_s + near_s;
}

double start_of(const Forecast& one, const NodeForecast* nodes, double now_s) {
  if (!one.gap_s) return std::max(now_s, *one.slurm_s);
  if (one.slurm_s && goes_ahead(*one.slurm_s, one.shape, *nodes, now_s))
    return std::max(now_s, std::min(*one.slurm_s, *one.gap_s));
  return *one.gap_s;
}

}  // namespace

std::optional<Forecast> forecast(const Shape& shape, std::optional<double> slurm_s,
                                 const NodeForecast* nodes, double now_s) {
  const int count = shape.nodes + shape.spare_nodes;
  Forecast result{.shape = shape, .slurm_s = slurm_s};
  if (nodes != nullptr)
    result.gap_s = finite(nodes->free.earliest(count, seconds_asked(shape), now_s));
  if (!result.slurm_s && !result.gap_s) return std::nullopt;
  if (!result.gap_s) nodes = nullptr;  // Slurm knows more
  result.start_s = start_of(result, nodes, now_s);
  const double wait_s = result.start_s - now_s;
  double start_s = result.start_s;
  double left_s = shape.run_s;
  double run_s = 0;
  for (int slice = 1; slice < shape.slices && left_s > shape.useful_s; ++slice) {
    const double length_s = 60.0 * shape.limit_minutes;
    left_s -= shape.useful_s;
    run_s += length_s;
    const double again_s = start_s + length_s + std::max(requeue_hold_s, wait_s);
    start_s = nodes == nullptr ? again_s : nodes->free.earliest(count, length_s, again_s);
  }
  if (run_s > 0) left_s += slice_start_s;
  if (!std::isfinite(start_s)) return std::nullopt;
  result.finish_s = start_s + left_s;
  result.node_hours = (run_s + left_s) / 3600 * count;
  return result;
}

void rank_by_finish(std::vector<Forecast>& forecasts, double now_s) {
  std::ranges::stable_sort(forecasts, [now_s](const Forecast& a, const Forecast& b) {
    const auto key = [now_s](const Forecast& one) {
      return std::tuple(!one.gap_s, std::round(weighed(one, now_s) / 60),
                        one.finish_s - one.start_s, one.node_hours);
    };
    return key(a) < key(b);
  });
}

}  // namespace dllaunch
