#include "topology/node/synthetic.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "support/parse_number.hpp"

namespace dllaunch {
namespace {

constexpr int max_count = 4096;

struct Shape {
  int packages = 1;
  int numa = 1;   // per package
  int l3 = 1;     // per NUMA node
  int cores = 1;  // per L3
  int threads = 1;
  int gpus = 0;
  int nics = 0;
  int memory = 16;  // GiB per NUMA node

  long long total_numa() const { return 1LL * packages * numa; }
  long long total_cores() const { return total_numa() * l3 * cores; }
};

struct Word {
  std::string_view name;
  int Shape::*count;
  int least;
};

constexpr std::array<Word, 8> keywords{{{"packages", &Shape::packages, 1},
                                        {"numa", &Shape::numa, 1},
                                        {"l3", &Shape::l3, 1},
                                        {"cores", &Shape::cores, 1},
                                        {"threads", &Shape::threads, 1},
                                        {"gpus", &Shape::gpus, 0},
                                        {"nics", &Shape::nics, 0},
                                        {"memory", &Shape::memory, 1}}};

Error bad_word(std::string_view word, std::string_view why) {
  return {ErrorKind::bad_request,
          fmt::format("synthetic topology: '{}' {}", word.substr(0, 40), why),
          "write for example synthetic:packages:2 numa:4 l3:2 cores:8 threads:2 gpus:4"};
}

Result<Shape> parse_shape(std::string_view text) {
  constexpr std::string_view space = " \t\r\n";
  Shape shape;
  std::array<bool, keywords.size()> seen{};
  for (;;) {
    const auto start = text.find_first_not_of(space);
    if (start == std::string_view::npos) return shape;
    text.remove_prefix(start);
    const auto item = text.substr(0, text.find_first_of(space));
    text.remove_prefix(item.size());

    const auto colon = item.find(':');
    const auto word = std::find_if(keywords.begin(), keywords.end(),
                                   [&](const Word& w) { return w.name == item.substr(0, colon); });
    if (word == keywords.end())
      return bad_word(item, "is not one of packages, numa, l3, cores, threads, gpus, nics, memory");
    if (std::exchange(seen[static_cast<std::size_t>(word - keywords.begin())], true))
      return bad_word(item, "is given twice");

    const auto digits = colon == std::string_view::npos ? "" : item.substr(colon + 1);
    const auto count = parse_number<int>(digits);
    if (!count || *count < word->least || *count > max_count)
      return bad_word(item, fmt::format("needs a count of {} to {}", word->least, max_count));
    shape.*(word->count) = *count;
  }
}

std::string pci_address(int device, int first_bus) {
  constexpr int buses = 0x7f;
  return fmt::format("{:04x}:{:02x}:00.0", device / buses, first_bus + device % buses);
}

// The NUMA node of device `i` of `count`: consecutive numbers are adjacent.
std::size_t node_of(int i, int count, std::size_t nodes) {
  return static_cast<std::size_t>(i) * nodes / static_cast<std::size_t>(count);
}

void add_cores(const Shape& shape, Topology& topology) {
  const auto total = static_cast<int>(shape.total_cores());
  const int cores_per_node = shape.l3 * shape.cores;
  for (int node = 0; node < shape.total_numa(); ++node)
    topology.numa.push_back({.index = node,
                             .cpus = {},
                             .memory_bytes = static_cast<std::uint64_t>(shape.memory) << 30});
  topology.cores.reserve(static_cast<std::size_t>(total));
  for (int c = 0; c < total; ++c) {
    const int node = c / cores_per_node;
    Core core{.cpus = {},
              .package = node / shape.numa,
              .l3 = c / shape.cores,
              .opens_l3 = c % shape.cores == 0};
    for (int thread = 0; thread < shape.threads; ++thread) core.cpus.insert(c + thread * total);
    topology.numa[static_cast<std::size_t>(node)].cpus |= core.cpus;
    topology.cores.push_back(std::move(core));
  }
}

void add_devices(const Shape& shape, Topology& topology) {
  const auto nodes = topology.numa.size();
  for (int g = 0; g < shape.gpus; ++g) {
    const auto& node = topology.numa[node_of(g, shape.gpus, nodes)];
    topology.gpus.push_back({.index = g,
                             .name = "synthetic GPU",
                             .vendor = "nvidia",
                             .pci = pci_address(g, 0x01),
                             .cpus = node.cpus,
                             .numa = {node.index},
                             .package = node.index / shape.numa});
  }
  for (int n = 0; n < shape.nics; ++n) {
    const auto& node = topology.numa[node_of(n, shape.nics, nodes)];
    topology.nics.push_back({.name = fmt::format("mlx5_{}", n),
                             .pci = pci_address(n, 0x80),
                             .numa = {node.index},
                             .cpus = node.cpus,
                             .fabric = true});
  }
  std::sort(topology.nics.begin(), topology.nics.end(),
            [](const Nic& a, const Nic& b) { return a.name < b.name; });
}

Topology build(const Shape& shape, std::string source) {
  Topology topology;
  topology.packages = shape.packages;
  add_cores(shape, topology);
  add_devices(shape, topology);
  topology.allowed_cpus =
      IdSet::range(0, static_cast<int>(shape.total_cores()) * shape.threads - 1);
  topology.present_cpus = topology.allowed_cpus;
  topology.allowed_numa = IdSet::range(0, static_cast<int>(shape.total_numa()) - 1);
  topology.source = std::move(source);
  return topology;
}

}  // namespace

Result<Topology> synthetic_topology(std::string_view text) {
  const auto shape = parse_shape(text);
  if (!shape) return shape.error();
  // Each factor is bounded, so multiplying one at a time cannot overflow.
  long long cpus = 1;
  for (const int factor : {shape->packages, shape->numa, shape->l3, shape->cores, shape->threads}) {
    cpus *= factor;
    if (cpus > IdSet::max_id + 1)
      return Error{ErrorKind::bad_request,
                   fmt::format("synthetic topology: more than {} CPUs", IdSet::max_id + 1),
                   "ask for fewer packages, NUMA nodes, cores or threads"};
  }
  return build(*shape, fmt::format("synthetic {}", text));
}

Topology topology_from_counts(int sockets, int cores_per_socket, int threads_per_core, int gpus) {
  Shape shape;
  shape.packages = std::clamp(sockets, 1, max_count);
  shape.cores = std::clamp(cores_per_socket, 1, (IdSet::max_id + 1) / shape.packages);
  shape.threads =
      std::clamp(threads_per_core, 1, (IdSet::max_id + 1) / shape.packages / shape.cores);
  shape.gpus = std::clamp(gpus, 0, max_count);
  auto topology = build(shape, "Slurm's counts");
  for (auto& node : topology.numa) node.memory_bytes = 0;
  for (auto& gpu : topology.gpus) {
    gpu.name.clear();
    gpu.vendor = "other";
    gpu.pci.clear();
    gpu.cpus = topology.allowed_cpus;
    gpu.numa = topology.allowed_numa;
    gpu.package = -1;
  }
  // Slurm counts sockets, not caches: an unknown L3 is better than a wrong one.
  for (auto& core : topology.cores) {
    core.l3 = -1;
    core.opens_l3 = false;
  }
  return topology;
}

}  // namespace dllaunch
