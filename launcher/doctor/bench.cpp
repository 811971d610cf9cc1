#include "launcher/doctor/bench.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>

#include "launcher/doctor/memory_bandwidth.hpp"
#include "launcher/doctor/pinned_copies.hpp"

namespace dllaunch {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int most_timed_threads = 4;
constexpr std::size_t most_sources = 16;

/// Returns the first allowed thread of up to four cores of `cpus`, spread out.
IdSet measuring_cpus(const Topology& topology, const IdSet& cpus) {
  std::vector<int> firsts;
  for (const auto& core : topology.cores) {
    const auto usable = core.cpus & cpus & topology.allowed_cpus;
    if (!usable.empty()) firsts.push_back(usable.first());
  }
  IdSet chosen;
  const auto count = std::min<std::size_t>(firsts.size(), most_timed_threads);
  for (std::size_t i = 0; i < count; ++i) chosen.insert(firsts[i * firsts.size() / count]);
  return chosen;
}

std::vector<const NumaNode*> memory_nodes(const Topology& topology) {
  std::vector<const NumaNode*> nodes;
  for (const auto& node : topology.numa)
    if (node.memory_bytes > 0 && topology.allowed_numa.contains(node.index)) nodes.push_back(&node);
  return nodes;
}

/// Returns the distinct CPU sets to measure from.
std::vector<IdSet> sources_of(const Topology& topology, const std::vector<IdSet>& ranks) {
  std::vector<IdSet> sources;
  const auto add = [&](const IdSet& cpus) {
    const bool known = std::ranges::find(sources, cpus) != sources.end();
    if (!known && cpus.intersects(topology.allowed_cpus)) sources.push_back(cpus);
  };
  for (const auto& cpus : ranks) add(cpus);
  if (ranks.empty())
    for (const auto& node : topology.numa) add(node.cpus & topology.allowed_cpus);
  return sources;
}

void bench_memory(const Topology& topology, const std::vector<IdSet>& ranks, Json& answer) {
  constexpr std::chrono::seconds enough{6};
  const auto nodes = memory_nodes(topology);
  auto sources = sources_of(topology, ranks);
  auto& notes = answer["notes"];
  if (sources.size() > most_sources) {
    notes.push_back(
        fmt::format("measured from {} of {} sets of CPUs", most_sources, sources.size()));
    sources.resize(most_sources);
  }
  const auto begin = Clock::now();
  for (const auto& cpus : sources) {
    const auto threads = measuring_cpus(topology, cpus);
    for (const auto* node : nodes) {
      if (Clock::now() - begin > enough) {
        notes.push_back("stopped after 6 s: not every pair was measured");
        return;
      }
      // With one node there is nothing to bind, and kernels without NUMA return an error.
      const auto speed = measure_bandwidth(threads, nodes.size() > 1 ? node->index : -1, {});
      if (!speed) {
        notes.push_back(speed.error().what);
        continue;
      }
      answer["memory"].push_back({{"cpus", to_list(cpus)},
                                  {"threads", threads.size()},
                                  {"numa", node->index},
                                  {"local", node->cpus.intersects(cpus)},
                                  {"gb_per_s", *speed}});
    }
  }
}

void bench_copies(const Topology& topology, Json& answer) {
  std::vector<CopySource> sources;
  for (const auto* node : memory_nodes(topology)) {
    const auto cpus = node->cpus & topology.allowed_cpus;
    if (!cpus.empty() && node->kind != "gpu") sources.push_back({node->index, cpus});
  }
  const auto copies = measure_pinned_copies(sources);
  if (!copies) {
    answer["notes"].push_back("copies to a GPU were skipped: " + copies.error().what);
    return;
  }
  for (const auto& copy : *copies) {
    const auto gpu = std::ranges::find(topology.gpus, copy.pci, &Gpu::pci);
    const bool known = gpu != topology.gpus.end();
    answer["copies"].push_back(
        {{"gpu", known ? Json(gpu->index) : Json(nullptr)},
         {"pci", copy.pci},
         {"numa", copy.numa},
         {"local", known ? Json(gpu->numa.contains(copy.numa)) : Json(nullptr)},
         {"gb_per_s", copy.gb_per_s}});
  }
}

}  // namespace

Json bench_node(const Topology& topology, const std::vector<IdSet>& ranks,
                const std::string& host) {
  Json answer = {{"host", host},
                 {"memory", Json::array()},
                 {"copies", Json::array()},
                 {"notes", Json::array()}};
  bench_memory(topology, ranks, answer);
  bench_copies(topology, answer);
  return answer;
}

}  // namespace dllaunch
