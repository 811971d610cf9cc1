#include "launcher/launch/prepare_job.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <sstream>

#include "launcher/base/split.hpp"
#include "launcher/cluster/cluster_catalog.hpp"
#include "launcher/cluster/probe_cache.hpp"
#include "launcher/cluster/profile_facts.hpp"
#include "launcher/cluster/slurm_facts.hpp"
#include "launcher/job/load_job.hpp"
#include "launcher/launch/avoid_nodes.hpp"
#include "launcher/launch/own_gpus.hpp"
#include "launcher/plan/divide_gpus.hpp"
#include "launcher/plan/program_paths.hpp"
#include "launcher/run/run_dir.hpp"
#include "launcher/slurm/option_overrides.hpp"
#include "support/json.hpp"
#include "support/json_text.hpp"

namespace dllaunch {
namespace {

Result<Facts> observe_with_probes(System& system) {
  auto facts = observe(system);
  if (!facts || !facts->slurm) return facts;
  auto cache = read_probe_cache(system, facts->slurm->cluster);
  facts->probed = std::move(cache.nodes);
  for (const auto& complaint : cache.complaints)
    system.log("dllaunch: warning: " + complaint + "\n");
  return facts;
}

/// Parses a dllaunch record, or output of Slurm's commands.
Result<Facts> facts_from_text(std::string_view text) {
  const auto document = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  const auto limit = document.is_discarded() ? exceeded_json_limit(text) : "";
  if (!limit.empty())
    return Error{ErrorKind::bad_request, "too large for a record of facts: " + limit, ""};
  const bool ours =
      !document.is_discarded() &&
      (!document.is_object() || document.contains("slurm") || document.contains("host"));
  return ours ? facts_from_json(document) : facts_from_recording(text);
}

Result<Facts> recorded_facts(System& system, const PlanOptions& options) {
  auto text = system.read_file(options.facts);
  if (!text) {
    auto error = std::move(text).error();
    error.kind = ErrorKind::bad_request;
    return error;
  }
  auto facts = facts_from_text(*text);
  if (!facts) return std::move(facts).error().within(options.facts);
  return facts;
}

/// Whether the partition exists in this Slurm but not in the profile: planning from the profile
/// would fail.
bool only_here(const std::optional<std::string>& partition, const ClusterProfile& profile,
               const SlurmFacts& slurm) {
  if (profile.partitions.empty()) return true;
  if (!partition) return false;
  const auto has = [](const auto& all, const std::string& name) {
    return std::ranges::any_of(all, [&](const auto& one) { return one.name == name; });
  };
  std::istringstream names(*partition);
  bool news = false;
  for (std::string name; std::getline(names, name, ',');) {
    if (!has(slurm.partitions, name)) return false;
    news = news || !has(profile.partitions, name);
  }
  return news;
}

/// Whether the Slurm has every partition of the list.
bool has_partitions(const SlurmFacts& slurm, std::string_view list) {
  return std::ranges::all_of(split_at(list, ','), [&slurm](std::string_view name) {
    return std::ranges::find(slurm.partitions, name, &Partition::name) != slurm.partitions.end();
  });
}

/// Another cluster's facts must not influence the plan.
bool may_be_of(const ClusterProfile& profile, const Facts& facts,
               const std::optional<std::string>& partition) {
  if (profile.any_cluster() && facts.slurm && partition)
    return has_partitions(*facts.slurm, *partition);
  const auto match = profile_match(profile, facts);
  return match == ProfileMatch::alike ||
         (match == ProfileMatch::unknown && only_here(partition, profile, *facts.slurm));
}

Result<Facts> facts_of_named(System& system, const PlanOptions& options, const std::string& cluster,
                             const std::optional<std::string>& partition) {
  auto found = find_profile(system, cluster);
  if (!found) return std::move(found).error();
  auto profile = std::make_shared<const ClusterProfile>(*std::move(found));
  if (!options.facts.empty()) {
    auto facts = recorded_facts(system, options);
    if (facts) facts->profile = std::move(profile);
    return facts;
  }
  std::string why = fmt::format("{} is run by another scheduler", profile->name);
  if (profile->scheduler == "slurm") {
    auto here = observe_with_probes(system);
    if (here && may_be_of(*profile, *here, partition)) {
      here->profile = std::move(profile);
      return here;
    }
    why = !here          ? here.error().what
          : !here->slurm ? here->why_no_slurm
          : profile->any_cluster()
              ? fmt::format("the Slurm here has no partition '{}'", partition.value_or(""))
              : fmt::format("the Slurm here is cluster '{}'", here->slurm->cluster);
  }
  auto facts = facts_from_profile(std::move(profile));
  if (facts) facts->why_no_slurm = std::move(why);
  return facts;
}

/// `own`: include the user's profiles.
Result<Facts> recognised(System& system, Facts facts, bool own) {
  if (facts.profile) return facts;
  const auto profiles = read_candidates(system, facts, own);
  const auto* profile = recognise(profiles, facts);
  if (profile == nullptr) return facts;
  if (profile->scheduler != "slurm")
    return facts_from_profile(std::make_shared<const ClusterProfile>(*profile));
  facts.profile = std::make_shared<const ClusterProfile>(*profile);
  return facts;
}

Result<Facts> facts_as_told(System& system, const PlanOptions& options, const std::string& cluster,
                            const std::optional<std::string>& partition) {
  if (options.local && options.facts.empty()) return observe_local(system);
  if (cluster != "auto") return facts_of_named(system, options, cluster, partition);
  const bool recorded = !options.facts.empty();
  auto facts = recorded ? recorded_facts(system, options) : observe_with_probes(system);
  if (!facts) return facts;
  // With --facts, no other file is read.
  return recognised(system, *std::move(facts), !recorded);
}

}  // namespace

Result<Facts> find_facts(System& system, const PlanOptions& options, const std::string& cluster,
                         const std::optional<std::string>& partition) {
  auto facts = facts_as_told(system, options, cluster, partition);
  if (!facts || !facts->topology || !options.facts.empty()) return facts;
  // As with the CPUs that this process may use: a rank sees no others.
  if (auto own = with_own_gpus(system, *facts->topology)) facts->topology = *std::move(own);
  return facts;
}

SbatchVariables variables_that_count(System& system, const Facts& facts,
                                     const PlanOptions& options) {
  const bool here = facts.slurm && !facts.from_profile && options.facts.empty() && !options.local;
  return here ? sbatch_variables(system) : SbatchVariables{};
}

Job effective_job(const Job& job, const Facts& facts, const SbatchVariables& variables,
                  bool local) {
  return facts.slurm && !local ? apply_overrides(job, variables) : job;
}

Result<LaunchPlan> plan_effective(const Job& effective, const Facts& facts, const Paths& paths,
                                  const SbatchVariables& variables, bool local) {
  auto made = plan(effective, facts, paths, local);
  if (!made || made->launcher != Launcher::slurm) return made;
  std::vector<std::string> options;
  for (const auto& option : made->sbatch) options.push_back(option_word(option));
  options.insert(options.end(), made->sbatch_extra.begin(), made->sbatch_extra.end());
  for (auto& note : notes_on(options, variables)) made->warnings.push_back(std::move(note));
  auto adopted = adopted_options(options, variables);
  std::ranges::move(adopted, std::back_inserter(made->sbatch_extra));
  return made;
}

Result<LaunchPlan> plan_avoiding(System& system, const PlanOptions& options, Job& effective,
                                 const Facts& facts, const Paths& paths,
                                 const SbatchVariables& variables) {
  const bool queues = facts.slurm && !facts.from_profile && options.facts.empty() &&
                      !options.local && !options.allocated;
  auto avoiding = effective;
  auto notes = queues ? avoid_nodes(system, avoiding, facts) : std::vector<std::string>();
  auto made = plan_effective(avoiding, facts, paths, variables, options.local);
  const bool avoids = avoiding.resources.exclude != effective.resources.exclude;
  if (!made && avoids) {
    made = plan_effective(effective, facts, paths, variables, options.local);
    notes = {"recovery.avoid: avoids no node: without them the job would not fit"};
  } else {
    effective = std::move(avoiding);
  }
  if (made) made->warnings.insert(made->warnings.end(), notes.begin(), notes.end());
  return made;
}

Result<Ok> check_submittable(const Facts& facts, const LaunchPlan& plan) {
  if (plan.launcher != Launcher::slurm) return Ok{};
  if (plan.scheduler != "Slurm")
    return Error{
        ErrorKind::unavailable,
        fmt::format("{} is run by {}, and dllaunch writes sbatch scripts", plan.cluster,
                    plan.scheduler),
        "`dllaunch plan` shows where each rank runs and the command that starts the ranks there"};
  if (facts.from_profile)
    return Error{
        ErrorKind::unavailable,
        fmt::format("the job is for {}, which is not here: {}", plan.cluster, facts.why_no_slurm),
        "use --local for this machine; `dllaunch script` writes the script to submit there"};
  return Ok{};
}

Result<PlannedJob> plan_loaded(System& system, const PlanOptions& options, const Job& job,
                               const Paths& paths, Facts facts) {
  const auto variables = variables_that_count(system, facts, options);
  auto divided = divide_gpus(job, facts, variables, options.local);
  if (!divided) return std::move(divided).error();
  auto effective = effective_job(*divided, facts, variables, options.local);
  auto made = plan_avoiding(system, options, effective, facts, paths, variables);
  return PlannedJob{*std::move(divided), std::move(effective), std::move(facts), std::move(made)};
}

namespace {

Result<PlannedJob> plan_file(System& system, const PlanOptions& options, Paths& paths) {
  const auto job = load_job(system, options.job, options.sets);
  if (!job) return job.error();
  auto facts = find_facts(system, options, job->cluster, job->resources.partition);
  if (!facts) return std::move(facts).error();
  auto found = program_paths(new_run_path(job->name));
  if (!found) return std::move(found).error();
  paths = *std::move(found);
  return plan_loaded(system, options, *job, paths, *std::move(facts));
}

}  // namespace

Result<LaunchPlan> plan_job(System& system, const PlanOptions& options) {
  Paths paths;
  auto planned = plan_file(system, options, paths);
  if (!planned) return std::move(planned).error();
  return std::move(planned->plan);
}

CheckedPlan check_planned(System& system, const PlanOptions& options, const PlannedJob& planned,
                          const Paths& paths) {
  const auto& [job, effective, facts, made] = planned;
  CheckedPlan checked{.plan = made};
  if (checked.plan)
    if (auto here = check_submittable(facts, *checked.plan); !here)
      checked.elsewhere = std::move(here).error();
  const bool elsewhere = !options.facts.empty() || facts.from_profile;
  if (facts.slurm && !options.local)
    checked.report = check_before_queue(effective, facts, paths, checked.plan, elsewhere, system);
  else if (!elsewhere)
    checked.report = check_here(effective, paths, system);
  return checked;
}

Result<CheckedPlan> check_job(System& system, const PlanOptions& options) {
  Paths paths;
  auto planned = plan_file(system, options, paths);
  if (!planned) return std::move(planned).error();
  return check_planned(system, options, *planned, paths);
}

Result<LaunchPlan> submittable_plan(System& system, const PlanOptions& options) {
  auto checked = check_job(system, options);
  if (!checked) return std::move(checked).error();
  if (!checked->plan) return std::move(checked->plan).error();
  if (checked->elsewhere) return *std::move(checked->elsewhere);
  if (!checked->report.passed()) return as_error(checked->report);
  return std::move(checked->plan);
}

}  // namespace dllaunch
