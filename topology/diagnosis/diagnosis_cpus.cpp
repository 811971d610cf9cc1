// Rules about CPUs: which ones a rank has, and which ranks share them.
#include <algorithm>
#include <map>
#include <string_view>

#include <fmt/core.h>

#include "topology/diagnosis/diagnosis_rules.hpp"
#include "topology/placement/reserved_cpus.hpp"

namespace dllaunch {
namespace {

const Gpu& gpu_at(const DiagnosisContext& context, int position) {
  return context.topology.gpus[static_cast<std::size_t>(position)];
}

std::string gpus_text(const DiagnosisContext& context, const std::vector<int>& gpus) {
  std::string text;
  for (const int gpu : gpus) text += (text.empty() ? "" : ", ") + gpu_words(context.topology, gpu);
  return text;
}

IdSet cpus_of_ranks(const DiagnosisContext& context) {
  IdSet all;
  for (const auto& rank : context.node.ranks) all |= rank.cpus;
  return all;
}

/// Returns one CPU of each of `cores` that the job may use and no rank runs on.
IdSet cores_without_rank(const DiagnosisContext& context, const IdSet& cores) {
  const auto taken = cpus_of_ranks(context);
  IdSet idle;
  for (const auto& core : context.topology.cores)
    if (const auto usable = core.cpus & cores & context.topology.allowed_cpus;
        !usable.empty() && !core.cpus.intersects(taken))
      idle.insert(usable.first());
  return idle;
}

/// Returns how many CPUs of Slurm's allocation on this node no rank runs on; all allowed CPUs if
/// Slurm does not say. Without a cgroup, a job with part of a node may run on all of it.
int cpus_left(const DiagnosisContext& context) {
  const int given = number_in(variable(context, 0, "SLURM_CPUS_ON_NODE"));
  if (given == 0) return context.topology.allowed_cpus.size();
  const auto taken = cpus_of_ranks(context);
  int used = 0;
  for (const auto& core : context.topology.cores)
    if (core.cpus.intersects(taken)) used += core.cpus.size();
  return given - used;
}

/// Whether the rank has its near cores plus some near no GPU, while ranks occupy all near ones: the
/// node has no better cores.
bool filled_up(const DiagnosisContext& context, const RankObservation& rank, const IdSet& local) {
  IdSet beside_any;
  for (const auto& gpu : context.topology.gpus) beside_any |= gpu.cpus;
  return local.intersects(rank.cpus) && !(rank.cpus - local).intersects(beside_any) &&
         cores_without_rank(context, local).empty();
}

bool placed_as_advised(const DiagnosisContext& context, int i) {
  const auto* advised = context.advised(i);
  return advised != nullptr && context.rank(i).cpus == advised->cpus;
}

/// Whether the advised placement also lets these two share or split.
bool unavoidable(const DiagnosisContext& context, int i, int j, const IdSet& where) {
  const auto* one = context.advised(i);
  const auto* other = context.advised(j);
  return one != nullptr && other != nullptr && one->cpus.intersects(where) &&
         other->cpus.intersects(where);
}

bool too_few_cpus(const DiagnosisContext& context, int i, int j) {
  if (context.topology.allowed_cpus.size() < context.count()) return true;
  const auto* one = context.advised(i);
  const auto* other = context.advised(j);
  return one != nullptr && other != nullptr && one->cpus.intersects(other->cpus);
}

/// Parses GOMP_CPU_AFFINITY, "0-3 8,12-20:4". Strides are ignored; the whole range counts.
IdSet gomp_cpus(std::string_view text) {
  IdSet all;
  while (!text.empty()) {
    const auto end = std::min(text.find_first_of(" ,\t"), text.size());
    const auto item = text.substr(0, std::min(text.find(':'), end));
    if (auto cpus = parse_id_list(item)) all |= *cpus;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return all;
}

bool openmp_binds(const DiagnosisContext& context, int i) {
  const char* const names[] = {"OMP_PROC_BIND", "OMP_PLACES", "KMP_AFFINITY", "GOMP_CPU_AFFINITY"};
  return std::any_of(std::begin(names), std::end(names),
                     [&](const char* name) { return variable(context, i, name) != nullptr; });
}

/// The ranks whose bound CPUs overlap those of rank i, and the overlap.
struct Sharing {
  IdSet others;
  IdSet cpus;
  bool avoidable = false;
};

Sharing sharing_of(const DiagnosisContext& context, int i) {
  Sharing sharing;
  for (int j = 0; j < context.count(); ++j) {
    if (i == j || context.rank(j).rank < 0 || (context.unbound(i) && context.unbound(j))) continue;
    const auto common = context.rank(i).cpus & context.rank(j).cpus;
    if (common.empty()) continue;
    add_rank(sharing.others, context.rank(j).rank);
    sharing.cpus |= common;
    sharing.avoidable = sharing.avoidable || !too_few_cpus(context, i, j);
  }
  return sharing;
}

}  // namespace

std::vector<Found> far_from_gpu(const DiagnosisContext& context) {
  Found wholly{.level = Level::fail, .ranks = {}, .seen = {}, .fix = fix_binding(context)};
  Found partly{.level = Level::warn, .ranks = {}, .seen = {}, .fix = fix_binding(context)};
  for (int i = 0; i < context.count(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    const auto& rank = context.rank(i);
    if (rank.rank < 0 || !context.uses_gpu[at] || context.driven[at].empty()) continue;
    if (context.unbound(i) || placed_as_advised(context, i)) continue;
    IdSet local;
    IdSet numa;
    for (const int gpu : context.driven[at]) {
      local |= gpu_at(context, gpu).cpus;
      numa |= gpu_at(context, gpu).numa;
    }
    // If no CPU near the GPU may be used, no binding helps.
    if (!local.intersects(context.topology.allowed_cpus) || local.contains(rank.cpus)) continue;
    if (filled_up(context, rank, local)) continue;
    auto& found = local.intersects(rank.cpus) ? partly : wholly;
    note(found, context, i,
         fmt::format("runs on {} ({}), beside {} ({}) are {}", cpu_words(rank.cpus),
                     numa_words(context.topology.numa_of(rank.cpus)),
                     gpus_text(context, context.driven[at]), numa_words(numa), cpu_words(local)));
  }
  auto all = only(std::move(wholly));
  for (auto& found : only(std::move(partly))) all.push_back(std::move(found));
  return all;
}

std::vector<Found> overlapping(const DiagnosisContext& context) {
  Found avoidable{.level = Level::fail, .ranks = {}, .seen = {}, .fix = fix_binding(context)};
  Found crowded{.level = Level::warn,
                .ranks = {},
                .seen = {},
                .fix =
                    "fewer ranks a node (resources: {ranks_per_node: N}, --ntasks-per-node=N), or "
                    "ask for more CPUs (--cpus-per-task, resources: {exclusive: true})"};
  for (int i = 0; i < context.count(); ++i) {
    const auto& rank = context.rank(i);
    if (rank.rank < 0) continue;
    const auto sharing = sharing_of(context, i);
    if (sharing.cpus.empty()) continue;
    auto& found = sharing.avoidable ? avoidable : crowded;
    // Its peer has already reported the pair.
    if (sharing.others.first() < rank.rank && !found.seen.empty()) {
      add_rank(found.ranks, rank.rank);
      continue;
    }
    note(found, context, i,
         fmt::format("shares {} with rank{} {}", cpu_words(sharing.cpus),
                     sharing.others.size() == 1 ? "" : "s", rank_words(sharing.others)));
  }
  auto all = only(std::move(avoidable));
  for (auto& found : only(std::move(crowded))) all.push_back(std::move(found));
  return all;
}

std::vector<Found> unbound(const DiagnosisContext& context) {
  Found found{.level = Level::warn, .ranks = {}, .seen = {}, .fix = fix_binding(context)};
  const auto numa = context.topology.numa_of(context.topology.allowed_cpus);
  for (int i = 0; i < context.count(); ++i) {
    const auto& rank = context.rank(i);
    if (rank.rank < 0 || !context.unbound(i) || placed_as_advised(context, i)) continue;
    // A rank alone on its node may use all of it.
    if (context.count() == 1 && rank.local_world_size == 1) continue;
    note(found, context, i,
         fmt::format("may run on all of {} ({})", cpu_words(rank.cpus), numa_words(numa)));
  }
  return only(std::move(found));
}

std::vector<Found> split_siblings(const DiagnosisContext& context) {
  Found found{.level = Level::warn, .ranks = {}, .seen = {}, .fix = fix_binding(context)};
  if (static_cast<std::size_t>(context.count()) > context.topology.cores.size()) return {};
  IdSet told;
  for (const auto& core : context.topology.cores) {
    if (core.cpus.size() < 2) continue;
    std::vector<int> owners;
    for (int i = 0; i < context.count(); ++i)
      if (context.rank(i).rank >= 0 && !context.unbound(i) &&
          context.rank(i).cpus.intersects(core.cpus))
        owners.push_back(i);
    if (owners.size() < 2) continue;
    const int one = owners[0];
    const int other = owners[1];
    if (context.rank(one).cpus.intersects(context.rank(other).cpus & core.cpus)) continue;
    if (unavoidable(context, one, other, core.cpus)) continue;
    for (const int i : owners) add_rank(found.ranks, context.rank(i).rank);
    if (told.contains(context.rank(one).rank)) continue;
    add_rank(told, context.rank(one).rank);
    note(found, context, one,
         fmt::format("has {} and rank {} has {} of one core",
                     cpu_words(context.rank(one).cpus & core.cpus), context.rank(other).rank,
                     cpu_words(context.rank(other).cpus & core.cpus)));
  }
  return only(std::move(found));
}

std::vector<Found> too_many_threads(const DiagnosisContext& context) {
  Found found{.level = Level::warn,
              .ranks = {},
              .seen = {},
              .fix =
                  "OMP_NUM_THREADS and the data workers together at most the rank's CPUs "
                  "(train: {dataset: {workers: N}}, DataLoader num_workers), or more CPUs: "
                  "--cpus-per-task=N, resources: {cpus_per_rank: N}"};
  for (int i = 0; i < context.count(); ++i) {
    const auto& rank = context.rank(i);
    const int cpus = rank.cpus.size();
    if (cpus == 0) continue;
    const int openmp = number_in(variable(context, i, "OMP_NUM_THREADS"));
    if (openmp > cpus)
      note(found, context, i, fmt::format("has OMP_NUM_THREADS={} on {} CPUs", openmp, cpus));
    else if (rank.workers + 1 > cpus && rank.workers > 0)
      note(found, context, i,
           fmt::format("has {} worker processes on {} CPUs", rank.workers, cpus));
    else if (rank.runnable_threads >= 2 * cpus)
      note(found, context, i,
           fmt::format("had {} threads ready to run at once on {} CPUs", rank.runnable_threads,
                       cpus));
  }
  return only(std::move(found));
}

std::vector<Found> reserved_used(const DiagnosisContext& context) {
  if (!context.node.request) return {};
  const auto reserved = reserved_cpus(context.topology, context.node.request->reserve);
  if (!reserved || reserved->empty()) return {};
  Found found{.level = Level::warn, .ranks = {}, .seen = {}, .fix = fix_binding(context)};
  for (int i = 0; i < context.count(); ++i) {
    const auto used = context.rank(i).cpus & *reserved;
    if (!used.empty() && !context.unbound(i))
      note(found, context, i,
           fmt::format("uses {}, which `reserve: {}` keeps free", cpu_words(used),
                       context.node.request->reserve));
  }
  return only(std::move(found));
}

std::vector<Found> idle_cores(const DiagnosisContext& context) {
  const auto& request = context.node.request;
  // Asking for a number of cores, for near ones or for masks leaves the others idle on purpose.
  const bool on_purpose =
      request && (request->cores == BindCores::near || request->cores_per_rank > 0 ||
                  request->mode == BindMode::core || request->policy == BindPolicy::none ||
                  request->policy == BindPolicy::explicit_masks);
  if (on_purpose || context.node.ranks.empty()) return {};
  IdSet given;  // to this step; another step of the job may use the rest
  for (const auto& rank : context.node.ranks) {
    given |= rank.cpuset.empty() ? context.topology.allowed_cpus : rank.cpuset;
    const bool ours_to_judge = request || rank.launcher == "slurm";
    if (rank.rank < 0 || rank.cpus.empty() || !ours_to_judge) return {};
    if (rank.local_world_size > context.count()) return {};  // other ranks may use them
  }
  auto usable = context.topology.allowed_cpus & given;
  if (request)
    if (const auto reserved = reserved_cpus(context.topology, request->reserve))
      usable -= *reserved;
  const auto idle = cores_without_rank(context, usable);
  if (std::min(idle.size(), cpus_left(context)) < context.count()) return {};  // too few for all
  DiagnosisContext filled = context;
  PlacementRequest wish = request.value_or(PlacementRequest{});
  wish.ranks = context.count();
  wish.cores = BindCores::fill;
  wish.gpus = std::min(wish.gpus, static_cast<int>(std::ssize(context.topology.gpus)));
  if (auto placed = place_ranks(context.topology, wish)) filled.advice = *std::move(placed);
  return {{.level = Level::warn,
           .ranks = {},
           .seen = {fmt::format("no rank runs on {}, {} cores that the job may use",
                                cpu_words(idle), idle.size())},
           .fix = fix_binding(filled, "cores: fill")}};
}

std::vector<Found> stray_threads(const DiagnosisContext& context) {
  Found found{.level = Level::warn,
              .ranks = {},
              .seen = {},
              .fix =
                  "bind before the program starts: srun --cpu-bind, or dllaunch exec -- CMD, "
                  "instead of sched_setaffinity or taskset -p in a running process"};
  for (int i = 0; i < context.count(); ++i) {
    const auto& rank = context.rank(i);
    const auto outside = rank.cpus - rank.main_cpus;
    if (rank.main_cpus.empty() || outside.empty() || openmp_binds(context, i)) continue;
    note(found, context, i,
         fmt::format("is bound to {}, but some of its {} threads may run on {}",
                     cpu_words(rank.main_cpus), rank.threads, cpu_words(outside)));
  }
  return only(std::move(found));
}

std::vector<Found> openmp_elsewhere(const DiagnosisContext& context) {
  Found found{.level = Level::warn,
              .ranks = {},
              .seen = {},
              .fix =
                  "unset GOMP_CPU_AFFINITY; OMP_PLACES=cores OMP_PROC_BIND=close stay inside the "
                  "rank's own CPUs"};
  for (int i = 0; i < context.count(); ++i) {
    const auto* value = variable(context, i, "GOMP_CPU_AFFINITY");
    if (value == nullptr) continue;
    const auto outside = gomp_cpus(*value) - context.rank(i).cpus;
    if (!outside.empty())
      note(found, context, i,
           fmt::format("has GOMP_CPU_AFFINITY=\"{}\" on {}", *value,
                       cpu_words(context.rank(i).cpus)));
  }
  return only(std::move(found));
}

}  // namespace dllaunch
