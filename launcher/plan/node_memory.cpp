#include "launcher/plan/node_memory.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "launcher/job/short_values.hpp"
#include "support/counted.hpp"
#include "support/parse_number.hpp"

namespace dllaunch {
namespace {

int times(const JobMemory& memory, const NodeCounts& counts) {
  if (memory.per == MemoryPer::rank) return counts.ranks;
  return memory.per == MemoryPer::gpu ? counts.gpus : 1;
}

std::string in_gib(double mib) {
  const double gib = mib / 1024;
  return gib < 1000 ? fmt::format("{:.4g} GiB", gib) : fmt::format("{:.0f} GiB", gib);
}

/// Hosts with at least that much.
int hosts_with(double mib, const NodeChoice& nodes) {
  int hosts = 0;
  for (const auto& [type, count] : nodes.kinds)
    if (has_memory(*type, mib)) hosts += count;
  return hosts;
}

/// The most that as many nodes as wanted have.
double most_memory(const NodeChoice& nodes) {
  double most = 0;
  for (const auto& [type, count] : nodes.kinds) {
    const auto mib = static_cast<double>(type->memory_mib);
    if (hosts_with(mib, nodes) >= nodes.wanted) most = std::max(most, mib);
  }
  return most;
}

/// The value to set instead: whole GiB, or MiB below one.
std::string in_whole_units(double mib) {
  return mib >= 1024 ? fmt::format("{:.0f}GB", std::floor(mib / 1024))
                     : fmt::format("{:.0f}MB", std::floor(mib));
}

std::string words_of(const JobMemory& memory, const NodeCounts& counts) {
  if (memory.per == MemoryPer::node) return memory.amount + " of memory on each node";
  const auto* noun = memory.per == MemoryPer::rank ? "rank" : "GPU";
  return fmt::format("{} of memory for each of {} on a node, {} together", memory.amount,
                     counted(times(memory, counts), noun),
                     in_gib(memory_of_node_mib(memory, counts)));
}

std::string_view key_of(MemoryPer per) {
  constexpr std::string_view keys[] = {"per_node", "per_rank", "per_gpu"};
  return keys[static_cast<std::size_t>(per)];
}

}  // namespace

std::pair<std::string, std::string> memory_option(const JobMemory& memory, int ranks_per_node) {
  if (memory.per == MemoryPer::gpu) return {"--mem-per-gpu", memory.amount};
  if (memory.per == MemoryPer::node) return {"--mem", memory.amount};
  const std::string_view amount = memory.amount;
  const auto count = parse_number<std::int64_t>(amount.substr(0, amount.size() - 1)).value_or(0);
  return {"--mem", fmt::format("{}{}", count * ranks_per_node, amount.back())};
}

double memory_of_node_mib(const JobMemory& memory, const NodeCounts& counts) {
  return memory_mib(memory.amount) * times(memory, counts);
}

bool has_memory(const NodeType& type, double mib) {
  return type.memory_mib <= 1 || mib <= static_cast<double>(type.memory_mib);
}

Result<Ok> check_memory(const JobMemory& memory, const NodeCounts& counts,
                        const NodeChoice& nodes) {
  const double needed = memory_of_node_mib(memory, counts);
  if (hosts_with(needed, nodes) >= nodes.wanted || hosts_with(0, nodes) < nodes.wanted) return Ok{};
  const double most = most_memory(nodes);
  const auto share = in_whole_units(most / std::max(1, times(memory, counts)));
  return Error{
      ErrorKind::unsatisfiable,
      fmt::format("asked for {}, {} have {}", words_of(memory, counts), nodes.where, in_gib(most)),
      fmt::format("use --set resources.memory.{}={}, or name another resources.partition",
                  key_of(memory.per), share)}
      .with_id("nodes");
}

}  // namespace dllaunch
