// Rules that compare the job's request with the node (--topology).
#include <fmt/core.h>

#include <algorithm>

#include "launcher/lint/rule.hpp"
#include "topology/placement/placement.hpp"
#include "topology/render/masks.hpp"

namespace dllaunch::lint {
namespace {

IdSet present_cpus(const Topology& node) {
  return node.present_cpus.empty() ? node.cpus() : node.present_cpus;
}

/// The list for this node's placement in srun's syntax; empty if there is none.
std::string right_list(const Subject& subject, const CpuBind& bind) {
  PlacementRequest request;
  const long tasks = step_request(subject.script, *bind.launch).tasks_per_node();
  request.ranks = static_cast<int>(tasks > 0 ? tasks : static_cast<long>(bind.items.size()));
  const long cpus = step_request(subject.script, *bind.launch).cpus_per_task;
  if (request.ranks < 1 || request.ranks > 4096) return "";
  auto placement = place_ranks(*subject.around.topology, request);
  if (!placement) return "";
  // A binding must leave a rank at least the CPUs that it requested.
  const bool enough = std::ranges::all_of(placement->ranks, [&](const RankPlacement& rank) {
    return bind.map || cpus < 1 || static_cast<long>(rank.cpus.size()) <= cpus;
  });
  if (!enough) {
    request.cores_per_rank = static_cast<int>(cpus);
    if (auto narrower = place_ranks(*subject.around.topology, request)) placement = narrower;
  }
  return bind.map ? srun_map_cpu(*placement) : srun_cpu_bind(*placement);
}

/// A finding about some ranks of a list, reported once, at the first of them.
struct BadRanks {
  IdSet ranks = {};
  IdSet cpus = {};  // of all those ranks
  const BindItem* first = nullptr;
  IdSet first_cpus = {};

  void add(std::size_t rank, const BindItem& item, const IdSet& bad) {
    if (bad.empty()) return;
    ranks.insert(static_cast<int>(rank));
    cpus |= bad;
    if (first != nullptr) return;
    first = &item;
    first_cpus = bad;
  }
  std::string who() const {
    return fmt::format("the CPU mask{} of local rank{} {}", ranks.size() == 1 ? "" : "s",
                       ranks.size() == 1 ? "" : "s", to_list(ranks));
  }
  std::string which() const {
    return fmt::format("CPU{} {}", cpus.size() == 1 ? "" : "s", to_list(cpus));
  }
};

void report_list(const Subject& subject, const CpuBind& bind, const BadRanks& bad,
                 std::string message, Report& report) {
  const std::string list = right_list(subject, bind);
  std::vector<Edit> edits;
  if (!list.empty() && bind.list.is_verbatim() && !bind.list.empty()) {
    const std::size_t begin = bind.list.source(0);
    edits.push_back({begin, begin + bind.list.bytes().size(), list.substr(list.find(':') + 1)});
  }
  report.add(bad.first->text.source(0), std::move(message),
             list.empty() ? "`dllaunch bind --topology` computes masks for this node"
                          : "write --cpu-bind=" + list,
             std::move(edits));
}

void check_outside(const Subject& subject, Report& report) {
  if (!subject.around.topology) return;
  const IdSet present = present_cpus(*subject.around.topology);
  for (const CpuBind& bind : subject.binds) {
    BadRanks bad;
    for (std::size_t rank = 0; rank < bind.items.size(); ++rank) {
      bad.add(rank, bind.items[rank], bind.items[rank].cpus - present);
    }
    if (bad.first == nullptr || report.full()) continue;
    report_list(subject, bind, bad,
                fmt::format("{} {} {}, which this node ({}) does not have: srun refuses the list",
                            bad.who(), bad.ranks.size() == 1 ? "names" : "name", bad.which(),
                            subject.around.topology->source),
                report);
  }
}

/// "the first core of each L3" if that describes the CPUs.
std::string reserved_how(const Topology& node, const IdSet& cpus) {
  IdSet first;
  for (const Core& core : node.cores) {
    if (core.opens_l3) first |= core.cpus;
  }
  // Cores that are removed entirely leave no entry: no remaining core then begins an L3.
  const bool every_l3_starts_late =
      std::ranges::none_of(node.cores, [](const Core& core) { return core.opens_l3; });
  const bool outside = !cpus.intersects(node.cpus());
  return (!first.empty() && first.contains(cpus)) || (every_l3_starts_late && outside)
             ? " (the first core of each L3 is kept for the system)"
             : "";
}

void check_reserved(const Subject& subject, Report& report) {
  if (!subject.around.topology) return;
  const Topology& node = *subject.around.topology;
  const IdSet forbidden = present_cpus(node) - node.allowed_cpus;
  for (const CpuBind& bind : subject.binds) {
    BadRanks bad;
    for (std::size_t rank = 0; rank < bind.items.size(); ++rank) {
      bad.add(rank, bind.items[rank], bind.items[rank].cpus & forbidden);
    }
    if (bad.first == nullptr || report.full()) continue;
    report_list(
        subject, bind, bad,
        fmt::format("{} {} {}, which jobs may not use on this node{}: srun refuses the list "
                    "(\"CPU binding outside of job step allocation\")",
                    bad.who(), bad.ranks.size() == 1 ? "names" : "name", bad.which(),
                    reserved_how(node, bad.cpus)),
        report);
  }
}

/// Whether local rank i uses GPU i: nothing in the script says otherwise.
bool ranks_follow_gpus(const Subject& subject, const CpuBind& bind, long tasks) {
  const Script& script = subject.script;
  const auto gpus = static_cast<long>(subject.around.topology->gpus.size());
  if (tasks < 1 || tasks != gpus) return false;
  if (script.directive("gpu-bind") != nullptr) return false;
  if (last_option(bind.launch->options, "gpu-bind") != nullptr) return false;
  const long asked = script.request.node_gpus();
  if (asked >= 0 && asked != gpus) return false;
  for (const Assigned& assigned : script.run.assignments) {
    if (!assigned.name.ends_with("VISIBLE_DEVICES")) continue;
    const auto& marks = assigned.value.marks();
    const bool plain =
        marks.size() == 1 && assigned.value.bytes().size() == 1 && marks[0].name == "SLURM_LOCALID";
    if (!plain) return false;
  }
  return true;
}

/// One CPU of each usable core that no mask contains.
IdSet cores_without_mask(const Topology& node, const IdSet& masks) {
  IdSet idle;
  for (const Core& core : node.cores) {
    const IdSet usable = core.cpus & node.allowed_cpus;
    if (!usable.empty() && !core.cpus.intersects(masks)) idle.insert(usable.first());
  }
  return idle;
}

IdSet cpus_of(const CpuBind& bind) {
  IdSet all;
  for (const BindItem& item : bind.items) all |= item.cpus;
  return all;
}

/// Whether a mask holds near CPUs and CPUs near no GPU, while the masks leave no near core unused:
/// the node has no better ones.
bool filled_up(const Topology& node, const CpuBind& bind, const IdSet& mask, const IdSet& near,
               const IdSet& far) {
  IdSet beside_any;
  for (const Gpu& gpu : node.gpus) beside_any |= gpu.cpus;
  return mask.intersects(near) && !far.intersects(beside_any) &&
         !cores_without_mask(node, cpus_of(bind)).intersects(near);
}

void check_far(const Subject& subject, Report& report) {
  if (!subject.around.topology) return;
  const Topology& node = *subject.around.topology;
  for (const CpuBind& bind : subject.binds) {
    long tasks = step_request(subject.script, *bind.launch).tasks_per_node();
    if (tasks < 0) tasks = static_cast<long>(bind.items.size());
    if (!ranks_follow_gpus(subject, bind, tasks)) continue;
    BadRanks bad;
    for (std::size_t rank = 0; rank < bind.items.size() && rank < node.gpus.size(); ++rank) {
      const IdSet& near = node.gpus[rank].cpus;
      if (!near.intersects(node.allowed_cpus)) continue;  // nothing better is available
      // Another rule reports CPUs that no job may use.
      const IdSet far = (bind.items[rank].cpus & node.allowed_cpus) - near;
      if (filled_up(node, bind, bind.items[rank].cpus, near, far)) continue;
      bad.add(rank, bind.items[rank], far);
    }
    if (bad.first == nullptr || report.full()) continue;
    const auto first = static_cast<std::size_t>(bad.ranks.first());
    report_list(
        subject, bind, bad,
        fmt::format("{} {} far from {}: rank {} gets CPU{} {}, next to GPU {} {} {}, so every "
                    "copy to the GPU crosses the node",
                    bad.who(), bad.ranks.size() == 1 ? "is" : "are",
                    bad.ranks.size() == 1 ? "its GPU" : "their GPUs", first,
                    bad.first_cpus.size() == 1 ? "" : "s", to_list(bad.first_cpus),
                    node.gpus[first].index, node.gpus[first].cpus.size() == 1 ? "is" : "are",
                    to_list(node.gpus[first].cpus)),
        report);
  }
}

/// How many of these cores are certainly usable: a node's description may omit that the site
/// reserves the first core of each L3.
int surely_usable(const Topology& node, IdSet cores) {
  for (const Core& core : node.cores)
    if (core.opens_l3) cores -= core.cpus;
  return cores.size();
}

void check_idle(const Subject& subject, Report& report) {
  const Script& script = subject.script;
  if (!subject.around.topology || !script.request.exclusive) return;
  const Topology& node = *subject.around.topology;
  // Concurrent steps may divide the node.
  IdSet masks;
  const CpuBind* widest = nullptr;
  for (const CpuBind& bind : subject.binds) {
    if (!bind.good()) return;
    masks |= cpus_of(bind);
    const bool wider = widest == nullptr || bind.items.size() > widest->items.size();
    // map_cpu sets only where a rank begins, which is enough for many programs.
    if (!bind.map && wider && does_work(subject.script, *bind.launch)) widest = &bind;
  }
  if (widest == nullptr) return;
  const IdSet idle = cores_without_mask(node, masks);
  const auto ranks = static_cast<int>(widest->items.size());
  if (surely_usable(node, idle) < ranks) return;  // fewer than one for each
  report.add(
      widest->items.front().text.source(0),
      fmt::format("the CPU masks leave {} of {} cores idle (CPU{} {}), which this job has "
                  "to itself",
                  idle.size(), node.cores.size(), idle.size() == 1 ? "" : "s", to_list(idle)),
      "`dllaunch bind --cores fill --topology` computes masks that use them too");
}

/// CPUs that tasks ask for: where, how many tasks a node, how many CPUs each.
struct AskedCpus {
  std::size_t at = 0;
  long tasks = 1;
  long cpus = -1;
  std::string words = {};  // "2 tasks per node x --cpus-per-task=4 is 8"
};

/// What the directive asks for, and each step that asks for more itself.
std::vector<AskedCpus> asked_cpus(const Script& script) {
  std::vector<AskedCpus> asked;
  const auto add = [&asked](std::size_t at, const SlurmRequest& request) {
    const long tasks = std::max<long>(1, request.tasks_per_node());
    const long cpus = request.task_cpus();
    const auto each = fmt::format(
        fmt::runtime(request.cpus_per_task > 0 ? "--cpus-per-task={}" : "{} CPUs"), cpus);
    asked.push_back({at, tasks, cpus,
                     fmt::format("{} task{} per node x {} is {}", tasks, tasks == 1 ? "" : "s",
                                 each, tasks * cpus)});
  };
  for (const char* name : {"cpus-per-task", "cpus-per-gpu", "tres-per-task"})
    if (const GivenOption* option = script.directive(name)) add(script.at(*option), script.request);
  const bool in_directives = !asked.empty();
  for (const Launch& launch : script.launches) {
    const GivenOption* own = last_option(launch.options, "cpus-per-task");
    if (own != nullptr && !in_directives)
      add(launch.arguments[own->word].source(own->at), step_request(script, launch));
  }
  return asked;
}

/// A node's cores: a description may lack those that are kept for the system, but not their CPUs.
struct UsableCores {
  long all = 0;
  long usable = 0;  // that have a CPU for jobs
};

UsableCores usable_cores(const Topology& node) {
  UsableCores cores;
  for (const Core& core : node.cores) {
    ++cores.all;
    cores.usable += core.cpus.intersects(node.allowed_cpus) ? 1 : 0;
  }
  const long threads = cores.usable > 0 ? node.allowed_cpus.size() / cores.usable : 1;
  cores.all = std::max(cores.all, present_cpus(node).size() / std::max(1L, threads));
  return cores;
}

void check_cpus(const Subject& subject, Report& report) {
  if (!subject.around.topology) return;
  const Topology& node = *subject.around.topology;
  const long have = node.allowed_cpus.size();
  const auto [all, usable] = usable_cores(node);
  for (const auto& [at, tasks, cpus, words] : asked_cpus(subject.script)) {
    if (cpus < 1 || cpus > 1'000'000 || report.full()) continue;
    const long sum = tasks * cpus;
    const long threads = usable > 0 ? have / usable : 1;
    // Who asks for up to all of the node's cores, or threads, forgot those that are reserved.
    const bool forgets =
        usable < all && ((sum > usable && sum <= all) || (sum > have && sum <= all * threads));
    if (forgets)
      report.add(at,
                 fmt::format("{} CPUs, but {} of this node's {} cores are kept for the system: "
                             "where Slurm counts cores the job never starts, and a rank has at "
                             "most {} cores for itself",
                             words, all - usable, all, usable / tasks),
                 fmt::format("write --cpus-per-task={}", std::max<long>(1, usable / tasks)));
    else if (sum > have)
      report.add(
          at, fmt::format("{} CPUs, this node has {} for jobs: the job never starts", words, have),
          fmt::format("write --cpus-per-task={}", std::max<long>(1, have / tasks)));
  }
}

/// A whole node for its GPUs, and most of its cores idle.
void check_unused(const Subject& subject, Report& report) {
  const Script& script = subject.script;
  if (!subject.around.topology || !script.request.exclusive) return;
  const Topology& node = *subject.around.topology;
  const long usable = usable_cores(node).usable;
  const auto gpus = static_cast<long>(node.gpus.size());
  const auto asked = asked_cpus(script);
  if (asked.empty() || gpus < 2 || script.request.node_gpus() != gpus) return;
  const auto& [at, tasks, cpus, words] = asked.front();
  if (cpus < 1 || cpus > 1'000'000 || tasks * cpus * 2 > usable) return;
  report.add(at,
             fmt::format("{} of the {} cores of a node that this job has to itself, for {} GPUs: "
                         "all ranks of a node share them",
                         words, usable, gpus),
             fmt::format("write --cpus-per-task={}", usable / tasks));
}

void check_gpus(const Subject& subject, Report& report) {
  if (!subject.around.topology) return;
  const Script& script = subject.script;
  const long wanted = script.request.node_gpus();
  const auto have = static_cast<long>(subject.around.topology->gpus.size());
  if (wanted <= have) return;
  std::size_t at = 0;
  for (const char* name :
       {"ntasks-per-gpu", "tres-per-task", "gpus", "gpus-per-task", "gres", "gpus-per-node"}) {
    if (const GivenOption* option = script.directive(name)) at = script.at(*option);
  }
  report.add(at,
             fmt::format("{} GPUs per node, this node has {}: the job never starts", wanted, have),
             fmt::format("write --gpus-per-node={}", have));
}

void check_memory(const Subject& subject, Report& report) {
  if (!subject.around.topology) return;
  const Script& script = subject.script;
  std::uint64_t bytes = 0;
  for (const NumaNode& numa : subject.around.topology->numa) {
    if (numa.kind != "gpu") bytes += numa.memory_bytes;
  }
  const auto have = static_cast<long>(bytes >> 20);
  if (have == 0) return;
  const long tasks = std::max<long>(1, script.request.tasks_per_node());
  const long cpus = std::max<long>(1, script.request.task_cpus());
  const long gpus = std::max<long>(1, script.request.node_gpus());
  const struct {
    const char* name;
    long times;
  } options[] = {{"mem", 1}, {"mem-per-cpu", tasks * cpus}, {"mem-per-gpu", gpus}};
  for (const auto& [name, times] : options) {
    const GivenOption* option = script.directive(name);
    if (option == nullptr) continue;
    const long size = megabytes(option->value.bytes());
    if (size < 1 || times > 1'000'000 || size * times <= have) continue;
    report.add(script.at(*option),
               fmt::format("--{}={}{} is {} MB per node, this node has {} MB: the job never starts",
                           name, option->value.bytes(),
                           times > 1 ? fmt::format(" x {}", times) : "", size * times, have),
               "ask for less, or write --mem=0 for all of a node's memory");
  }
}

constexpr Rule node_table[] = {
    {"mask-outside-node", Severity::error,
     "With `--topology`: a mask names CPUs that the node does not have.", check_outside},
    {"mask-reserved", Severity::error,
     "With `--topology`: a mask or `map_cpu` names CPUs reserved for the system.", check_reserved},
    {"mask-far", Severity::error, "With `--topology`: a rank's CPUs are not those next to its GPU.",
     check_far},
    {"mask-idle", Severity::warning,
     "With `--topology`: masks leave at least one core per rank idle in a whole-node job.",
     check_idle},
    {"node-cpus", Severity::error, "With `--topology`: more CPUs than the node offers to jobs.",
     check_cpus},
    {"node-unused", Severity::warning,
     "With `--topology`: a whole-node job for all GPUs asks for at most half of the cores.",
     check_unused},
    {"node-gpus", Severity::error, "With `--topology`: more GPUs than the node has.", check_gpus},
    {"node-memory", Severity::error, "With `--topology`: more memory than the node has.",
     check_memory},
};

}  // namespace

std::span<const Rule> node_rules() {
  return node_table;
}

}  // namespace dllaunch::lint
