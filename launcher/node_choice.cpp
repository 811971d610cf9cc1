#include "launcher/node_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <sstream>
#include <utility>

#include "launcher/host_list.hpp"
#include "launcher/nearest_name.hpp"
#include "launcher/probed_node.hpp"
#include "launcher/slurm_text.hpp"

namespace dllaunch {
namespace {

Error unsatisfiable(std::string what, std::string hint) {
  return {ErrorKind::unsatisfiable, std::move(what), std::move(hint)};
}

std::vector<std::string> split_names(const std::string& list) {
  std::vector<std::string> names;
  std::size_t start = 0;
  while (start <= list.size()) {
    const auto end = std::min(list.find(',', start), list.size());
    names.push_back(list.substr(start, end - start));
    start = end + 1;
  }
  return names;
}

Error no_such_partition(const std::string& name, const SlurmFacts& slurm) {
  std::vector<std::string> known;
  for (const auto& partition : slurm.partitions) known.push_back(partition.name);
  const auto nearest = nearest_name(name, known);
  return unsatisfiable(
      fmt::format("no partition '{}'{}", name, slurm.cluster.empty() ? "" : " on " + slurm.cluster),
      nearest ? fmt::format("use {}", *nearest)
              : fmt::format("use one of: {}", fmt::join(known, " ")));
}

/// The ones named (Slurm takes a list and uses the first that can start), or the default one.
Result<std::vector<const Partition*>> chosen_partitions(const Resources& resources,
                                                        const SlurmFacts& slurm) {
  std::vector<const Partition*> chosen;
  const auto find = [&slurm](const auto& wanted) {
    return std::find_if(slurm.partitions.begin(), slurm.partitions.end(), wanted);
  };
  if (resources.partition) {
    for (const auto& name : split_names(*resources.partition)) {
      const auto found = find([&name](const Partition& p) { return p.name == name; });
      if (found == slurm.partitions.end()) return no_such_partition(name, slurm);
      chosen.push_back(&*found);
    }
    return chosen;
  }
  const auto found = find([](const Partition& p) { return p.is_default; });
  if (found == slurm.partitions.end()) {
    std::vector<std::string> known;
    for (const auto& partition : slurm.partitions) known.push_back(partition.name);
    return unsatisfiable("this cluster has no default partition",
                         fmt::format("set resources.partition: {}", fmt::join(known, " or ")));
  }
  chosen.push_back(&*found);
  return chosen;
}

Result<Ok> check_time(const Resources& resources, const std::vector<const Partition*>& partitions) {
  if (!resources.time || is_unlimited(*resources.time)) return Ok{};
  const auto minutes = parse_slurm_minutes(*resources.time);
  if (!minutes)
    return Error{ErrorKind::bad_request,
                 fmt::format("resources.time: '{}' is no duration", *resources.time),
                 "write it as 00:30:00 or 1-12:00:00"};
  for (const auto* partition : partitions)
    if (partition->max_minutes && *minutes > *partition->max_minutes)
      return unsatisfiable(
          fmt::format("asked for {}, the limit of partition {} is {}", *resources.time,
                      partition->name, fmt::format("{} minutes", *partition->max_minutes)),
          fmt::format("use --set resources.time={}:{:02}:00", *partition->max_minutes / 60,
                      *partition->max_minutes % 60));
  return Ok{};
}

/// Whether a node may have what is asked for: "gpu" or "gpu&hbm80g". Expressions with other
/// operators are Slurm's to judge.
bool may_satisfy(const NodeType& type, const std::string& constraint) {
  if (constraint.find_first_of("|,[]()*!:") != std::string::npos) return true;
  const auto& has = type.features;
  std::istringstream wanted(constraint);
  for (std::string feature; std::getline(wanted, feature, '&');)
    if (std::find(has.begin(), has.end(), feature) == has.end()) return false;
  return true;
}

struct Candidate {
  const NodeType* type = nullptr;
  int hosts = 0;  // that are not excluded
};

/// Node types that exclude: and constraint: leave, each counted once though in several partitions.
Result<std::vector<Candidate>> candidates_of(const Resources& resources,
                                             const std::vector<const Partition*>& partitions) {
  std::set<std::string> excluded;
  // With a slash it is the name of a file, which Slurm reads and we do not.
  if (resources.exclude && resources.exclude->find('/') == std::string::npos) {
    auto hosts = expand_hosts(*resources.exclude);
    if (!hosts) return std::move(hosts).error().within("resources.exclude");
    excluded.insert(hosts->begin(), hosts->end());
  }
  std::vector<Candidate> candidates;
  for (const auto* partition : partitions) {
    for (const auto& type : partition->node_types) {
      if (resources.constraint && !may_satisfy(type, *resources.constraint)) continue;
      const auto hosts = excluded.empty()
                             ? std::ssize(type.hosts)
                             : std::count_if(type.hosts.begin(), type.hosts.end(),
                                             [&](const auto& h) { return !excluded.contains(h); });
      if (hosts > 0) candidates.push_back({&type, static_cast<int>(hosts)});
    }
  }
  return candidates;
}

int total_hosts(const std::vector<Candidate>& candidates, int least_gpus) {
  int hosts = 0;
  for (const auto& candidate : candidates)
    if (candidate.type->gpus >= least_gpus) hosts += candidate.hosts;
  return hosts;
}

int most_gpus(const std::vector<Candidate>& candidates) {
  int gpus = 0;
  for (const auto& candidate : candidates) gpus = std::max(gpus, candidate.type->gpus);
  return gpus;
}

/// auto: the most GPUs a node that enough nodes have. Named: at least these.
int least_gpus(const Resources& resources, const std::vector<Candidate>& candidates,
               bool wants_gpus) {
  if (!wants_gpus) return 0;
  if (resources.gpus_per_node) return std::min(*resources.gpus_per_node, most_gpus(candidates));
  int best = 0;
  for (const auto& candidate : candidates)
    if (candidate.type->gpus > best &&
        total_hosts(candidates, candidate.type->gpus) >= resources.nodes)
      best = candidate.type->gpus;
  return best;
}

/// Fewest CPUs first: a plan for the smallest node fits on every other.
const NodeType& smallest(const std::vector<Candidate>& candidates, int nodes) {
  const auto smaller = [](const Candidate& a, const Candidate& b) {
    return std::pair(a.type->gpus, a.type->cpus) < std::pair(b.type->gpus, b.type->cpus);
  };
  const Candidate* best = nullptr;
  for (const auto& candidate : candidates)
    if (candidate.hosts >= nodes && (best == nullptr || smaller(candidate, *best)))
      best = &candidate;
  return best != nullptr ? *best->type
                         : *std::min_element(candidates.begin(), candidates.end(), smaller)->type;
}

bool same_shape(const NodeType& a, const NodeType& b) {
  return a.cpus == b.cpus && a.sockets == b.sockets && a.cores_per_socket == b.cores_per_socket &&
         a.threads_per_core == b.threads_per_core && a.gpus == b.gpus && a.gpu_type == b.gpu_type;
}

NodeType shape_of(const NodeType& type) {
  auto shape = type;
  shape.hosts.clear();
  return shape;
}

std::string words_for(const std::vector<const Partition*>& partitions) {
  std::vector<std::string> names;
  names.reserve(partitions.size());
  for (const auto* partition : partitions) names.push_back(partition->name);
  return fmt::format("partition{} {}", names.size() == 1 ? "" : "s", fmt::join(names, ","));
}

}  // namespace

Result<NodeChoice> choose_nodes(const Resources& resources, const SlurmFacts& slurm,
                                bool wants_gpus) {
  const auto partitions = chosen_partitions(resources, slurm);
  if (!partitions) return partitions.error();
  if (auto good = check_time(resources, *partitions); !good) return std::move(good).error();
  auto candidates = candidates_of(resources, *partitions);
  if (!candidates) return std::move(candidates).error();

  const auto place = words_for(*partitions);
  const int gpus = least_gpus(resources, *candidates, wants_gpus);
  const int available = total_hosts(*candidates, gpus);
  if (available < resources.nodes) {
    const auto kind = gpus > 0 ? fmt::format(" with {} GPUs", gpus) : std::string();
    const auto left = resources.exclude || resources.constraint
                          ? " that resources.constraint and resources.exclude leave"
                          : "";
    return unsatisfiable(fmt::format("asked for {} node{}{}, {} has {}{}", resources.nodes,
                                     resources.nodes == 1 ? "" : "s", kind, place, available, left),
                         available > 0 ? fmt::format("use --set resources.nodes={}", available)
                                       : "name another resources.partition");
  }
  std::erase_if(*candidates, [gpus](const Candidate& c) { return c.type->gpus < gpus; });

  const auto& type = smallest(*candidates, resources.nodes);
  NodeChoice choice{.where = "nodes of " + place,
                    .shape = shape_of(type),
                    .partition = partitions->front()->name,
                    .hosts = type.hosts,
                    .others = {},
                    .uniform = true,
                    .warnings = {}};
  for (const auto& candidate : *candidates) {
    if (!same_description(*candidate.type, type)) choice.others.push_back(*candidate.type);
    choice.uniform = choice.uniform && same_shape(*candidate.type, choice.shape);
  }
  for (const auto* partition : *partitions)
    if (!partition->up)
      choice.warnings.push_back(
          fmt::format("partition {} takes or starts no jobs at the moment", partition->name));
  if (!choice.uniform)
    choice.warnings.push_back(fmt::format(
        "the nodes of {} differ: this plan is for one kind, each rank binds on the node it gets",
        place));
  return choice;
}

}  // namespace dllaunch
