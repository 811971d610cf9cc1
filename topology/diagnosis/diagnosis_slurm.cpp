// Rules about the request: Slurm's masks and variables, the plan, the cgroup.
#include <algorithm>
#include <string_view>

#include <fmt/core.h>

#include "topology/diagnosis/diagnosis_rules.hpp"

namespace dllaunch {
namespace {

/// Returns the rank's entry of SLURM_CPU_BIND_LIST. srun cycles through a list that is too short.
std::string_view own_entry(std::string_view list, int local_rank) {
  const auto count = 1 + std::ranges::count(list, ',');
  for (auto skip = local_rank % count; skip > 0; --skip) list.remove_prefix(list.find(',') + 1);
  return list.substr(0, list.find(','));
}

/// Returns what is wrong with the CPUs given to srun for the rank; empty if nothing.
std::string wrong_with(std::string_view entry, bool is_mask, const DiagnosisContext& context) {
  const auto asked = is_mask ? parse_mask(entry) : parse_id_list(entry);
  const auto shown = fmt::format("{} \"{}\"", is_mask ? "mask" : "CPU", entry.substr(0, 80));
  if (!asked) return fmt::format("was given the {}, which is invalid", shown);
  if (asked->empty()) return fmt::format("was given the {}, which is empty", shown);
  const auto missing = *asked - context.topology.present_cpus;
  if (!missing.empty())
    return fmt::format("was given the {}: this node has no {}", shown, cpu_words(missing));
  const auto refused = *asked - context.topology.allowed_cpus;
  if (!refused.empty())
    return fmt::format("was given the {}: the job may not use {}", shown, cpu_words(refused));
  return "";
}

/// Hardware threads of the rank's cores, as Slurm counts CPUs.
int slurm_cpus(const DiagnosisContext& context, const IdSet& cpus) {
  IdSet all = cpus;
  for (const auto& core : context.topology.cores)
    if (core.cpus.intersects(cpus)) all |= core.cpus;
  return all.size();
}

}  // namespace

std::vector<Found> bad_mask(const DiagnosisContext& context) {
  Found found{.level = Level::fail, .ranks = {}, .seen = {}, .fix = fix_binding(context)};
  for (int i = 0; i < context.count(); ++i) {
    if (context.rank(i).launcher != "slurm") continue;
    if (context.rank(i).cpus.empty()) {
      note(found, context, i, "has no CPU at all");
      continue;
    }
    const auto* type = variable(context, i, "SLURM_CPU_BIND_TYPE");
    const auto* list = variable(context, i, "SLURM_CPU_BIND_LIST");
    if (type == nullptr || list == nullptr) continue;
    const bool mask = type->starts_with("mask_cpu");
    if (!mask && !type->starts_with("map_cpu")) continue;
    const auto wrong = wrong_with(own_entry(*list, context.rank(i).local_rank), mask, context);
    if (!wrong.empty()) note(found, context, i, wrong);
  }
  return only(std::move(found));
}

std::vector<Found> cpus_per_task_clash(const DiagnosisContext& context) {
  Found two{.level = Level::fail,
            .ranks = {},
            .seen = {},
            .fix =
                "unset SLURM_CPUS_PER_TASK SRUN_CPUS_PER_TASK, and give srun --cpus-per-task=N "
                "itself"};
  Found fewer{.level = Level::warn,
              .ranks = {},
              .seen = {},
              .fix =
                  "srun --cpus-per-task=$SLURM_CPUS_PER_TASK: from 22.05 to 23.02 srun does not "
                  "inherit sbatch's"};
  for (int i = 0; i < context.count(); ++i) {
    const auto& rank = context.rank(i);
    const auto* slurm = variable(context, i, "SLURM_CPUS_PER_TASK");
    const auto* srun = variable(context, i, "SRUN_CPUS_PER_TASK");
    if (slurm != nullptr && srun != nullptr && *slurm != *srun) {
      note(two, context, i,
           fmt::format("has SLURM_CPUS_PER_TASK={} and SRUN_CPUS_PER_TASK={}", *slurm, *srun));
      continue;
    }
    const int asked = number_in(slurm != nullptr ? slurm : srun);
    const bool bound_by_us = variable(context, i, "DLLAUNCH_RUN_DIR") != nullptr;
    if (rank.launcher != "slurm" || bound_by_us || rank.rank < 0) continue;
    const int have = slurm_cpus(context, rank.cpus);
    if (have > 0 && asked > have)
      note(fewer, context, i,
           fmt::format("has {}, though {}_CPUS_PER_TASK={}", cpu_words(rank.cpus),
                       slurm != nullptr ? "SLURM" : "SRUN", asked));
  }
  auto findings = only(std::move(two));
  for (auto& found : only(std::move(fewer))) findings.push_back(std::move(found));
  return findings;
}

std::vector<Found> smaller_than_plan(const DiagnosisContext& context) {
  Found found{.level = Level::warn,
              .ranks = {},
              .seen = {},
              .fix =
                  "whole nodes: resources: {exclusive: true}; or plan for what there is: "
                  "resources: {cpus_per_rank: N}"};
  const auto& planned = context.node.planned;
  for (int i = 0; i < context.count(); ++i) {
    const auto& rank = context.rank(i);
    const auto local = static_cast<std::size_t>(rank.local_rank);
    if (rank.rank < 0 || local >= planned.size()) continue;
    const auto& mask = planned[local];
    if (!rank.cpuset.empty() && !rank.cpuset.contains(mask))
      note(found, context, i,
           fmt::format("was planned on {}, its cgroup allows {}", cpu_words(mask),
                       cpu_words(rank.cpuset)));
    else if (rank.cpus != mask)
      note(found, context, i,
           fmt::format("was planned on {} and runs on {}", cpu_words(mask), cpu_words(rank.cpus)));
  }
  return only(std::move(found));
}

std::vector<Found> not_all_cpus(const DiagnosisContext& context) {
  const auto& topology = context.topology;
  const auto missing = (topology.present_cpus | topology.cpus()) - topology.allowed_cpus;
  if (missing.empty()) return {};
  return {
      {.level = Level::ok,
       .ranks = {},
       .seen = {fmt::format("{} of {} CPUs may be used; not {}", topology.allowed_cpus.size(),
                            (topology.present_cpus | topology.cpus()).size(), cpu_words(missing))},
       .fix = ""}};
}

std::vector<Found> not_all_read(const DiagnosisContext& context) {
  Found found{.level = Level::warn,
              .ranks = {},
              .seen = {},
              .fix = "look as the user who runs it, or as root"};
  for (int i = 0; i < context.count(); ++i) {
    const auto& unread = context.rank(i).unread;
    if (unread.empty()) continue;
    const auto more = unread.size() > 1 ? fmt::format(" and {} more", unread.size() - 1) : "";
    note(found, context, i, fmt::format("could not be read: {}{}", unread.front(), more));
  }
  return only(std::move(found));
}

}  // namespace dllaunch
