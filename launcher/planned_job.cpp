#include "launcher/planned_job.hpp"

#include <nlohmann/json.hpp>

#include "launcher/load_job.hpp"
#include "launcher/probe_cache.hpp"
#include "launcher/program_paths.hpp"
#include "launcher/run_dir.hpp"
#include "launcher/slurm_facts.hpp"

namespace dllaunch {
namespace {

Result<Facts> observe_with_probes(World& world) {
  auto facts = observe(world);
  if (!facts || !facts->slurm) return facts;
  auto cache = read_probe_cache(world, facts->slurm->cluster);
  facts->probed = std::move(cache.nodes);
  for (const auto& complaint : cache.complaints)
    world.note("dllaunch: warning: " + complaint + "\n");
  return facts;
}

/// Our own record, or what Slurm's commands printed.
Result<Facts> facts_from_text(std::string_view text) {
  const auto document = nlohmann::ordered_json::parse(text, nullptr, /*allow_exceptions=*/false);
  const bool ours =
      !document.is_discarded() &&
      (!document.is_object() || document.contains("slurm") || document.contains("host"));
  return ours ? facts_from_json(document) : facts_from_recording(text);
}

}  // namespace

Result<Facts> find_facts(World& world, const PlanOptions& options) {
  if (options.facts.empty())
    return options.local ? observe_local(world) : observe_with_probes(world);
  auto text = world.read_file(options.facts);
  if (!text) {
    auto error = std::move(text).error();
    error.kind = ErrorKind::bad_request;
    return error;
  }
  auto facts = facts_from_text(*text);
  if (!facts) return std::move(facts).error().within(options.facts);
  return facts;
}

Result<LaunchPlan> plan_job(World& world, const PlanOptions& options) {
  const auto job = load_job(world, options.job, options.sets);
  if (!job) return job.error();
  const auto facts = find_facts(world, options);
  if (!facts) return facts.error();
  const auto paths = program_paths(new_run_path(job->name));
  if (!paths) return paths.error();
  return plan(*job, *facts, *paths, options.local);
}

Result<CheckedPlan> check_job(World& world, const PlanOptions& options) {
  const auto job = load_job(world, options.job, options.sets);
  if (!job) return job.error();
  const auto facts = find_facts(world, options);
  if (!facts) return facts.error();
  const auto paths = program_paths(new_run_path(job->name));
  if (!paths) return paths.error();
  CheckedPlan checked{.plan = plan(*job, *facts, *paths, options.local)};
  if (facts->slurm && !options.local)
    checked.report =
        check_before_queue(*job, *facts, *paths, checked.plan, !options.facts.empty(), world);
  return checked;
}

}  // namespace dllaunch
