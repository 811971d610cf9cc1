#include "launcher/plan/node_selection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <sstream>
#include <utility>

#include "launcher/base/nearest_name.hpp"
#include "launcher/base/split.hpp"
#include "launcher/cluster/probed_node.hpp"
#include "launcher/plan/node_memory.hpp"
#include "launcher/plan/sbatch_overrides.hpp"
#include "launcher/slurm/host_list.hpp"
#include "launcher/slurm/scontrol_parser.hpp"
#include "support/counted.hpp"

namespace dllaunch {
namespace {

/// Of a package; far beyond any.
constexpr int max_cores = 1 << 12;

Error unsatisfiable(std::string what, std::string hint) {
  return {ErrorKind::unsatisfiable, std::move(what), std::move(hint)};
}

Error no_such_partition(const std::string& name, const SlurmFacts& slurm) {
  std::vector<std::string> known;
  for (const auto& partition : slurm.partitions) known.push_back(partition.name);
  const auto nearest = nearest_name(name, known);
  return unsatisfiable(
      fmt::format("no partition '{}'{}", name,
                  slurm.cluster.empty() ? "" : fmt::format(" on cluster '{}'", slurm.cluster)),
      nearest ? fmt::format("use {}", *nearest)
              : fmt::format("use one of: {}", fmt::join(known, " ")));
}

/// The partitions named (Slurm takes a list and uses the first that can start), or the default one;
/// empty if there is no default.
Result<std::vector<const Partition*>> chosen_partitions(const Resources& resources,
                                                        const SlurmFacts& slurm) {
  std::vector<const Partition*> chosen;
  const auto find = [&slurm](const auto& wanted) {
    return std::ranges::find_if(slurm.partitions, wanted);
  };
  if (resources.partition) {
    for (const auto name : split_at(*resources.partition, ',')) {
      const auto found = find([&name](const Partition& p) { return p.name == name; });
      if (found == slurm.partitions.end()) return no_such_partition(std::string(name), slurm);
      chosen.push_back(&*found);
    }
    return chosen;
  }
  const auto found = find([](const Partition& p) { return p.is_default; });
  if (found != slurm.partitions.end()) chosen.push_back(&*found);
  return chosen;
}

Error no_default_partition(const SlurmFacts& slurm) {
  std::vector<std::string> known;
  for (const auto& partition : slurm.partitions) known.push_back(partition.name);
  return unsatisfiable(std::string(no_default_message),
                       fmt::format("set resources.partition: {}", fmt::join(known, " or ")));
}

/// Removes partitions whose limit is too low, since Slurm uses another of the list. If all are too
/// low, a QOS may lift the limit, which only Slurm knows.
Result<std::string> check_time(const Resources& resources,
                               std::vector<const Partition*>& partitions) {
  if (!resources.time || is_unlimited(*resources.time) || partitions.empty()) return std::string();
  const auto minutes = parse_slurm_minutes(*resources.time);
  if (!minutes)
    return Error{ErrorKind::bad_request,
                 fmt::format("resources.time: '{}' is not a duration", *resources.time),
                 "write it as 00:30:00 or 1-12:00:00"};
  const auto too_short = [minutes](const Partition* partition) {
    return partition->max_minutes && *minutes > *partition->max_minutes;
  };
  if (!std::ranges::all_of(partitions, too_short)) {
    std::erase_if(partitions, too_short);
    return std::string();
  }
  const auto& most = **std::ranges::max_element(
      partitions,
      [](const Partition* a, const Partition* b) { return *a->max_minutes < *b->max_minutes; });
  auto what = fmt::format("asked for {}, the limit of partition {} is {} minutes", *resources.time,
                          most.name, *most.max_minutes);
  if (resources.qos) return what + fmt::format(", unless QOS {} lifts it", *resources.qos);
  return unsatisfiable(std::move(what),
                       fmt::format("use --set resources.time={}:{:02}:00", *most.max_minutes / 60,
                                   *most.max_minutes % 60));
}

/// Whether a node may satisfy "gpu" or "gpu&hbm80g". Leaves other operators to Slurm.
bool may_satisfy(const NodeType& type, const std::string& constraint) {
  if (constraint.find_first_of("|,[]()*!:") != std::string::npos) return true;
  const auto& has = type.features;
  std::istringstream wanted(constraint);
  for (std::string feature; std::getline(wanted, feature, '&');)
    if (std::ranges::find(has, feature) == has.end()) return false;
  return true;
}

struct Candidate {
  NodeType type = {};
  int hosts = 0;  // not excluded
};

/// Node types that pass exclude: and constraint:, each once even if in several partitions.
Result<std::vector<Candidate>> candidates_of(const Resources& resources,
                                             const std::vector<const Partition*>& partitions) {
  std::set<std::string> excluded;
  // With a slash it names a file, which only Slurm reads.
  if (resources.exclude && resources.exclude->find('/') == std::string::npos) {
    auto hosts = expand_hosts(*resources.exclude);
    if (!hosts) return std::move(hosts).error().within("resources.exclude");
    excluded.insert(hosts->begin(), hosts->end());
  }
  std::vector<Candidate> candidates;
  for (const auto* partition : partitions) {
    for (const auto& type : partition->node_types) {
      if (resources.constraint && !may_satisfy(type, *resources.constraint)) continue;
      const auto hosts = excluded.empty() ? std::ssize(type.hosts)
                                          : std::ranges::count_if(type.hosts, [&](const auto& h) {
                                              return !excluded.contains(h);
                                            });
      if (hosts > 0) candidates.push_back({type, static_cast<int>(hosts)});
    }
  }
  return candidates;
}

int gpus_of_type(const NodeType& type, const std::string& wanted) {
  if (type.gpu_gres.empty()) return type.gpu_type == wanted ? type.gpus : 0;
  for (const auto& kind : type.gpu_gres)
    if (kind.type == wanted) return kind.count;
  return 0;
}

/// If the job names a GPU type, keeps only that type. An unknown type is left to the presubmit
/// checks.
void keep_one_type(const std::string& wanted, std::vector<Candidate>& candidates) {
  const auto has_it = [&wanted](const Candidate& c) { return gpus_of_type(c.type, wanted) > 0; };
  if (wanted.empty() || std::ranges::none_of(candidates, has_it)) return;
  for (auto& [type, hosts] : candidates) {
    type.gpus = gpus_of_type(type, wanted);
    type.gpu_type = type.gpus > 0 ? wanted : "";
  }
}

/// A note about nodes with several GPU types; empty if there is only one.
std::string words_for_kinds(const NodeType& type, const std::string& wanted, int gpus) {
  if (type.gpu_gres.empty()) return {};
  const auto counted = counted_gpus(type.gpu_gres);
  return fmt::format("its nodes have several kinds of GPU ({}): this plan counts {}{}",
                     gpu_words(type.gpu_gres),
                     wanted.empty() ? gpu_words(counted) : fmt::format("{} x {}", gpus, wanted),
                     wanted.empty() && counted != type.gpu_gres ? ", no part of one" : "") +
         (wanted.empty() ? "; resources.sbatch_extra: [--gpus-per-node=TYPE:N] takes one kind"
                         : "");
}

int total_hosts(const std::vector<Candidate>& candidates, int least_gpus) {
  int hosts = 0;
  for (const auto& candidate : candidates)
    if (candidate.type.gpus >= least_gpus) hosts += candidate.hosts;
  return hosts;
}

int most_gpus(const std::vector<Candidate>& candidates) {
  int gpus = 0;
  for (const auto& candidate : candidates) gpus = std::max(gpus, candidate.type.gpus);
  return gpus;
}

/// Leaves out nodes that are certain to have too little: of ranks and GPUs of a node, those count
/// that the job file gives; plan_slurm() checks the rest.
Result<Ok> keep_enough_memory(const Resources& resources, const std::string& where,
                              std::vector<Candidate>& candidates) {
  if (!resources.memory) return Ok{};
  const NodeCounts counts{.ranks = resources.ranks_per_node.value_or(1),
                          .gpus = resources.gpus_per_node.value_or(1)};
  NodeChoice nodes{.where = "nodes of " + where, .wanted = resources.nodes};
  for (const auto& [type, hosts] : candidates) nodes.kinds.emplace_back(&type, hosts);
  if (auto enough = check_memory(*resources.memory, counts, nodes); !enough) return enough;
  const double needed = memory_of_node_mib(*resources.memory, counts);
  std::erase_if(candidates, [needed](const Candidate& c) { return !has_memory(c.type, needed); });
  return Ok{};
}

/// The least GPUs per node. auto: the most that enough nodes have. Otherwise the number requested.
int least_gpus(const Resources& resources, const std::vector<Candidate>& candidates,
               bool wants_gpus) {
  if (!wants_gpus) return 0;
  if (resources.gpus_per_node) return std::min(*resources.gpus_per_node, most_gpus(candidates));
  int best = 0;
  for (const auto& candidate : candidates)
    if (candidate.type.gpus > best &&
        total_hosts(candidates, candidate.type.gpus) >= resources.nodes)
      best = candidate.type.gpus;
  return best;
}

/// Fewest CPUs first: a plan for the smallest node fits every other.
const NodeType& smallest(const std::vector<Candidate>& candidates, int nodes) {
  const auto smaller = [](const Candidate& a, const Candidate& b) {
    return std::pair(a.type.gpus, a.type.cpus) < std::pair(b.type.gpus, b.type.cpus);
  };
  const Candidate* best = nullptr;
  for (const auto& candidate : candidates)
    if (candidate.hosts >= nodes && (best == nullptr || smaller(candidate, *best)))
      best = &candidate;
  return best != nullptr ? best->type : std::ranges::min_element(candidates, smaller)->type;
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

Result<NodeSelection> choose_in(std::vector<const Partition*> partitions,
                                const Resources& resources, bool wants_gpus) {
  auto doubt = check_time(resources, partitions);
  if (!doubt) return std::move(doubt).error();
  auto candidates = candidates_of(resources, partitions);
  if (!candidates) return std::move(candidates).error();
  const auto wanted = wants_gpus ? wanted_gpu_type(resources.sbatch_extra) : std::string();
  keep_one_type(wanted, *candidates);

  const auto place = words_for(partitions);
  if (auto enough = keep_enough_memory(resources, place, *candidates); !enough)
    return std::move(enough).error();
  const int gpus = least_gpus(resources, *candidates, wants_gpus);
  const int available = total_hosts(*candidates, gpus);
  if (available < resources.nodes) {
    const auto kind = gpus > 0 ? " with " + counted(gpus, "GPU") : std::string();
    const auto left = resources.exclude || resources.constraint
                          ? " that resources.constraint and resources.exclude leave"
                          : "";
    return unsatisfiable(
        fmt::format("asked for {}{}, {} has {}{}", counted(resources.nodes, "node"), kind, place,
                    available, left),
        available > 0 ? fmt::format("use --set resources.nodes={}", available)
                      : "name another resources.partition");
  }
  std::erase_if(*candidates, [gpus](const Candidate& c) { return c.type.gpus < gpus; });

  const auto& type = smallest(*candidates, resources.nodes);
  NodeSelection selection{.where = "nodes of " + place,
                          .shape = shape_of(type),
                          .partition = partitions.front()->name,
                          .hosts = type.hosts,
                          .others = {},
                          .uniform = true,
                          .warnings = {}};
  for (const auto& candidate : *candidates) {
    if (!same_description(candidate.type, type)) selection.others.push_back(candidate.type);
    selection.uniform = selection.uniform && same_shape(candidate.type, selection.shape);
  }
  if (!doubt->empty()) selection.warnings.push_back(*std::move(doubt));
  for (const auto* partition : partitions)
    if (!partition->up)
      selection.warnings.push_back(
          fmt::format("partition {} does not accept or start jobs at the moment", partition->name));
  if (auto kinds = words_for_kinds(type, wanted, type.gpus); wants_gpus && !kinds.empty())
    selection.warnings.push_back(place + ": " + kinds);
  if (!selection.uniform)
    selection.warnings.push_back(fmt::format(
        "the nodes of {} differ: this plan is for one kind, each rank binds on the node it gets",
        place));
  return selection;
}

/// A site's plugin may choose the partition, and cannot be queried.
Result<NodeSelection> choose_without_default(const Resources& resources, const SlurmFacts& slurm,
                                             bool wants_gpus) {
  std::vector<const Partition*> fitting;
  for (const auto& partition : slurm.partitions)
    if (partition.up && choose_in({&partition}, resources, wants_gpus))
      fitting.push_back(&partition);
  if (fitting.empty()) return no_default_partition(slurm);
  auto selection = choose_in(fitting, resources, wants_gpus);
  if (selection)
    selection->warnings.insert(
        selection->warnings.begin(),
        fmt::format(
            "{}: this plan is for {}; set resources.partition unless Slurm here chooses one",
            no_default_message, selection->where));
  return selection;
}

std::string unchecked_words(const Resources& resources, const std::string& cluster) {
  std::vector<std::string> words;
  const auto add = [&words](std::string_view what, const std::optional<std::string>& name) {
    if (name) words.push_back(fmt::format("{} {}", what, *name));
  };
  add("partition", resources.partition);
  add("constraint", resources.constraint);
  add("account", resources.account);
  add("QOS", resources.qos);
  add("reservation", resources.reservation);
  add("excluded nodes", resources.exclude);
  add("time", resources.time);
  words.push_back(counted(resources.nodes, "node"));
  const auto& cores = resources.cpus_per_rank;
  if (cores) words.push_back(counted(*cores, "core") + " per rank");
  return fmt::format("{} stands for any Slurm cluster; not checked: {}{}", cluster,
                     fmt::join(words, ", "),
                     cores                 ? ""
                     : resources.exclusive ? "; the ranks of a node share all its CPUs"
                                           : "; the ranks of a node share the CPUs that Slurm "
                                             "gives without resources.cpus_per_rank");
}

/// Nodes like the example's, with as many GPUs and cores as the job asks for.
NodeType example_for(const Resources& resources, NodeType type) {
  type.memory_mib = 0;
  type.hosts.resize(static_cast<std::size_t>(resources.nodes), type.hosts.front());
  if (type.gpus > 0) type.gpus = std::max(type.gpus, resources.gpus_per_node.value_or(0));
  const auto ranks = std::int64_t{resources.ranks_per_node.value_or(std::max(1, type.gpus))};
  const auto cores = ranks * resources.cpus_per_rank.value_or(1);
  const auto needed = (cores + type.sockets - 1) / type.sockets;
  if (needed > type.cores_per_socket && needed <= max_cores) {
    type.cores_per_socket = static_cast<int>(needed);
    type.cpus = type.sockets * type.cores_per_socket * type.threads_per_core;
  }
  return type;
}

Result<NodeSelection> choose_example(Resources resources, const SlurmFacts& slurm,
                                     bool wants_gpus) {
  auto partition = slurm.partitions.front();
  partition.name = resources.partition.value_or(partition.name);
  partition.max_minutes.reset();
  for (auto& type : partition.node_types) type = example_for(resources, std::move(type));
  auto unchecked = unchecked_words(resources, slurm.cluster);
  for (auto* wish : {&resources.constraint, &resources.exclude}) wish->reset();
  auto selection = choose_in({&partition}, resources, wants_gpus);
  if (selection) selection->warnings.push_back(std::move(unchecked));
  return selection;
}

}  // namespace

Result<NodeSelection> select_nodes(const Resources& resources, const SlurmFacts& slurm,
                                   bool wants_gpus) {
  if (slurm.any_cluster && !slurm.partitions.empty())
    return choose_example(resources, slurm, wants_gpus);
  auto partitions = chosen_partitions(resources, slurm);
  if (!partitions) return std::move(partitions).error();
  if (partitions->empty()) return choose_without_default(resources, slurm, wants_gpus);
  return choose_in(*std::move(partitions), resources, wants_gpus);
}

Result<NodeSelection> select_nodes(const Job& job, const SlurmFacts& slurm, bool wants_gpus) {
  const int spare = job.recovery.spare_nodes;
  auto resources = job.resources;
  resources.nodes += spare;
  auto selection = select_nodes(resources, slurm, wants_gpus);
  // Without spare nodes the ranks would fit.
  if (selection || spare == 0 || !select_nodes(job.resources, slurm, wants_gpus)) return selection;
  return unsatisfiable(fmt::format("{}; {} of them spare ones", selection.error().what, spare),
                       "use --set recovery.spare_nodes=0, or fewer resources.nodes");
}

}  // namespace dllaunch
