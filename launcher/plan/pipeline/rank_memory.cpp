#include "launcher/plan/pipeline/rank_memory.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "launcher/job/short_values.hpp"

namespace dllaunch {

std::optional<std::int64_t> rank_memory(const LaunchPlan& plan) {
  const bool on_gpu = std::ranges::any_of(plan.placement.ranks,
                                          [](const auto& rank) { return !rank.gpus.empty(); });
  if (on_gpu || plan.ranks_per_node < 1) return std::nullopt;
  constexpr double mib = 1 << 20;
  double node = 0;
  for (const NumaNode& numa : plan.topology.numa)
    if (numa.kind == "dram") node += static_cast<double>(numa.memory_bytes);
  for (const auto& [option, value] : plan.sbatch)
    if (option == "--mem" && memory_of_short(value)) node = memory_mib(value) * mib;
  if (!(node > 0)) return std::nullopt;
  return static_cast<std::int64_t>(node / plan.ranks_per_node);
}

std::string bytes_words(std::int64_t bytes) {
  constexpr double mib = 1 << 20;
  const double count = static_cast<double>(bytes) / mib;
  return count < 1024 ? fmt::format("{:.1f} MiB", count) : fmt::format("{:.2f} GiB", count / 1024);
}

}  // namespace dllaunch
