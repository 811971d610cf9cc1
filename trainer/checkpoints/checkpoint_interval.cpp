#include "trainer/checkpoints/checkpoint_interval.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

namespace dllaunch {
namespace {

/// Returns a duration with two significant digits, in a suitable unit.
std::string duration(double seconds) {
  if (seconds < 60) return fmt::format("{:.2g} s", seconds);
  if (seconds < 2 * 3600) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.0f} h", seconds / 3600);
}

}  // namespace

double job_mtbf_s(std::optional<double> asked_hours, int nodes) {
  return 3600 * asked_hours.value_or(node_mtbf_hours / std::max(nodes, 1));
}

double best_interval_s(double save_s, double mtbf_s) {
  return std::max(save_s, std::sqrt(2 * save_s * mtbf_s));
}

std::string render_interval(double interval_s, double save_s, double mtbf_s) {
  return fmt::format(
      "checkpoints every {} from now on: one takes {}, a failure is expected every {} (Young/Daly)",
      duration(interval_s), duration(save_s), duration(mtbf_s));
}

}  // namespace dllaunch
