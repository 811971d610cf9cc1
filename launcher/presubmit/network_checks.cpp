#include "launcher/presubmit/network_checks.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "support/counted.hpp"
#include "topology/network/network.hpp"

namespace dllaunch {
namespace {

/// Whether `version` ("24.11.5") is older than major.minor; an unknown one is not.
bool is_older(const std::string& version, int major, int minor) {
  std::pair<int, int> its = {0, 0};
  const char* end = version.data() + version.size();
  const auto [dot, error] = std::from_chars(version.data(), end, its.first);
  if (error != std::errc() || dot == end || *dot != '.') return false;
  std::from_chars(dot + 1, end, its.second);
  return its < std::pair(major, minor);
}

bool has_extra(const Resources& resources, std::string_view option) {
  return std::ranges::any_of(resources.sbatch_extra, [option](const std::string& extra) {
    return extra.starts_with(option);
  });
}

std::string segment_hint(int nodes, int limit) {
  const int best = widest_segment(nodes, limit);
  return best > 1 ? fmt::format("set resources.segment: {}", best)
                  : fmt::format("ask for a multiple of {} nodes, with resources.segment: {}", limit,
                                limit);
}

void check_segment(int nodes, int segment, const SlurmFacts& slurm, CheckFindings& found) {
  if (is_older(slurm.version, 24, 5))
    return add_error(found, ErrorKind::unsatisfiable,
                     fmt::format("resources.segment needs Slurm 24.05, here is {}", slurm.version),
                     "remove resources.segment");
  if (nodes % segment != 0)
    add_error(
        found, ErrorKind::unsatisfiable,
        fmt::format("resources.segment: {} does not divide {}", segment, counted(nodes, "node")),
        fmt::format("set resources.segment: {}", widest_segment(nodes, segment)));
  const auto& network = slurm.network;
  if (network.kind.empty()) return;
  const int limit = segment_limit(network);
  if (limit == 0) {
    add_warning(found,
                fmt::format("resources.segment is for blocks, and {} has none", network.source),
                "remove it; resources.switches keeps nodes together on a tree of switches");
  } else if (segment > limit) {
    add_error(found, ErrorKind::unsatisfiable,
              fmt::format("resources.segment: {} is more than the {} of a block", segment,
                          counted(limit, "node")),
              segment_hint(nodes, limit));
  }
}

void check_width(int nodes, const SlurmFacts& slurm, CheckFindings& found) {
  const int limit = segment_limit(slurm.network);
  if (limit == 0 || is_older(slurm.version, 24, 5)) return;
  if (nodes <= leaf_widths(slurm.network).widest) return;
  add_warning(found,
              fmt::format("{} are more than a block has ({}): without resources.segment Slurm may "
                          "cut them unevenly",
                          counted(nodes, "node"), limit),
              segment_hint(nodes, limit));
}

void check_switches(int nodes, int switches, const Network& network, CheckFindings& found) {
  if (network.kind.empty()) return;
  if (network.kind != "tree")
    return add_warning(
        found,
        fmt::format("resources.switches is for a tree of switches, and {} is none", network.source),
        network.kind == "block" ? "use resources.segment" : "remove it");
  const int widest = leaf_widths(network).widest;
  if (nodes <= static_cast<std::int64_t>(switches) * widest) return;
  add_warning(
      found,
      fmt::format("resources.switches: {} cannot hold {}: a leaf switch has at most {}; the job "
                  "waits in vain, then runs on any nodes",
                  counted(switches, "leaf switch"), counted(nodes, "node"), widest),
      fmt::format("set resources.switches: {}, or more", (nodes + widest - 1) / widest));
}

}  // namespace

CheckFindings check_network(const Job& job, const SlurmFacts& slurm) {
  const auto& resources = job.resources;
  const int nodes = resources.nodes + job.recovery.spare_nodes;
  CheckFindings found;
  add_as(QueueCheck::placement, found, [&] {
    if (resources.segment) {
      check_segment(nodes, *resources.segment, slurm, found);
    } else if (!resources.spread && !has_extra(resources, "--segment")) {
      check_width(nodes, slurm, found);
    }
    if (resources.switches) check_switches(nodes, *resources.switches, slurm.network, found);
  });
  return found;
}

}  // namespace dllaunch
