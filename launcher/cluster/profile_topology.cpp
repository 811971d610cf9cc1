#include "launcher/cluster/profile_topology.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "support/json.hpp"
#include "topology/node/synthetic.hpp"
#include "topology/placement/reserved_cpus.hpp"

namespace dllaunch {
namespace {

/// Such numbers are not CPUs: the largest node known to hwloc has a few thousand.
constexpr std::size_t longest_list = 1000;

std::string with_domain(const std::string& pci) {
  constexpr std::size_t short_form = 7;  // "c1:00.0"
  return pci.size() == short_form ? "0000:" + pci : pci;
}

/// POWER numbers a core's threads consecutively; x86 numbers all first threads first.
void number_together(Topology& node, int threads) {
  for (auto& numa : node.numa) numa.cpus = {};
  for (std::size_t c = 0; c < node.cores.size(); ++c) {
    const int first = static_cast<int>(c) * threads;
    // Cores are spread over the NUMA nodes in order.
    const auto owner = c * node.numa.size() / node.cores.size();
    node.cores[c].cpus = IdSet::range(first, first + threads - 1);
    node.numa[owner].cpus |= node.cores[c].cpus;
  }
}

void number_numa(Topology& node, const Json& numbers) {
  node.allowed_numa = {};
  for (std::size_t i = 0; i < node.numa.size(); ++i) {
    node.numa[i].index = numbers[i].get<int>();
    node.allowed_numa.insert(node.numa[i].index);
  }
  std::ranges::sort(node.numa, {}, &NumaNode::index);
}

class Shaper {
 public:
  explicit Shaper(const Json& shape) : shape_(shape) {}

  ShapedNode make(const std::string& source) {
    if (add_cores() && add_gpus() && add_nics() && keep_reserve()) {
      node_.source = source;
      made_.topology = std::move(node_);
    }
    return std::move(made_);
  }

 private:
  bool fail(std::vector<std::string> place, std::string problem) {
    made_.place = std::move(place);
    made_.problem = std::move(problem);
    return false;
  }

  bool add_cores() {
    const auto count = [this](const char* key) { return shape_[key].get<int>(); };
    auto made = synthetic_topology(fmt::format("packages:{} numa:{} l3:{} cores:{} threads:{}",
                                               count("packages"), count("numa"), count("l3"),
                                               count("cores"), count("threads")));
    if (!made) return fail({}, made.error().what);
    node_ = *std::move(made);
    const auto gib = static_cast<std::uint64_t>(count("memory_gib"));
    for (auto& numa : node_.numa) numa.memory_bytes = (gib << 30) / node_.numa.size();
    if (shape_["threads_of_a_core"] == "together") number_together(node_, count("threads"));
    const Json& numbers = shape_["numa_numbers"];
    if (numbers.empty()) return true;
    if (numbers.size() != node_.numa.size() ||
        std::set<int>(numbers.begin(), numbers.end()).size() != numbers.size())
      return fail({"numa_numbers"},
                  fmt::format("needs {} different numbers, one per NUMA node", node_.numa.size()));
    number_numa(node_, numbers);
    return true;
  }

  /// Whole cores: a device near one thread is near its siblings.
  bool read_near(const Json& device, std::vector<std::string> place, IdSet& near) {
    const std::string text = device["near"];
    auto list = text.size() > longest_list ? Result<IdSet>(Error{}) : parse_id_list(text);
    if (!list) return fail(std::move(place), "not a list of CPUs");
    const auto missing = *list - node_.cpus();
    if (list->empty() || !missing.empty())
      return fail(std::move(place), fmt::format("this node has no CPU {}; its CPUs are {}",
                                                to_list(missing), to_list(node_.cpus())));
    for (const auto& core : node_.cores)
      if (core.cpus.intersects(*list)) near |= core.cpus;
    return true;
  }

  bool add_gpus() {
    for (const Json& item : shape_["gpus"]) {
      const int index = static_cast<int>(node_.gpus.size());
      Gpu gpu{.index = index,
              .name = shape_["gpu_name"],
              .vendor = shape_["gpu_vendor"],
              .pci = with_domain(item["pci"])};
      if (!read_near(item, {"gpus", std::to_string(index), "near"}, gpu.cpus)) return false;
      gpu.numa = node_.numa_of(gpu.cpus);
      for (const auto& core : node_.cores)
        if (core.cpus.intersects(gpu.cpus)) gpu.package = core.package;
      node_.gpus.push_back(std::move(gpu));
    }
    return true;
  }

  bool add_nics() {
    for (const Json& item : shape_["nics"]) {
      Nic nic{.name = item["name"], .pci = with_domain(item["pci"]), .fabric = item["fabric"]};
      if (!read_near(item, {"nics", std::to_string(node_.nics.size()), "near"}, nic.cpus))
        return false;
      nic.numa = node_.numa_of(nic.cpus);
      node_.nics.push_back(std::move(nic));
    }
    std::ranges::sort(node_.nics, {}, &Nic::name);
    return true;
  }

  /// Removes reserved cores, as hwloc shows the node inside a job.
  bool keep_reserve() {
    auto reserved = reserved_cpus(node_, shape_["reserve"]);
    if (!reserved) return fail({"reserve"}, reserved.error().what);
    node_.allowed_cpus = node_.cpus() - *reserved;
    if (node_.allowed_cpus.empty()) return fail({"reserve"}, "it leaves no CPU for jobs");
    for (auto& core : node_.cores) core.cpus &= node_.allowed_cpus;
    std::erase_if(node_.cores, [](const Core& core) { return core.cpus.empty(); });
    return true;
  }

  const Json& shape_;
  Topology node_;
  ShapedNode made_;
};

}  // namespace

ShapedNode shape_node(const Json& shape, const std::string& source) {
  return Shaper(shape).make(source);
}

}  // namespace dllaunch
