#include "launcher/job_identity.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "launcher/slurm_text.hpp"

namespace dllaunch {
namespace {

using Json = nlohmann::ordered_json;

std::string job_json(const RunDir& run) {
  return run.path + "/job.json";
}

/// Empty: Slurm does not say.
std::string own_cluster(World& world) {
  constexpr std::chrono::seconds limit(20);
  if (const auto name = world.environment("SLURM_CLUSTER_NAME"); name && !name->empty())
    return *name;
  const auto shown = world.run({"scontrol", "show", "config"}, limit);
  return shown && shown->exit_code == 0 ? parse_slurm_config(shown->out).cluster : "";
}

/// Empty: no record of this job.
std::string cluster_of(World& world, const RunDir& run, const std::string& id) {
  const auto text = world.read_file(job_json(run));
  const auto record = text ? Json::parse(*text, nullptr, /*allow_exceptions=*/false) : Json();
  if (!record.is_object() || record.value("id", Json()) != id) return "";
  const auto cluster = record.value("cluster", Json());
  return cluster.is_string() ? cluster.get<std::string>() : "";
}

}  // namespace

JobIdentity identity_of(const LaunchPlan& plan, const RunDir& run, const std::string& id) {
  JobIdentity identity{.id = id, .name = plan.name, .script = {}};
  const auto script = run.sbatch_script();
  if (access(script.c_str(), F_OK) == 0) identity.script = script;
  for (const auto& [option, value] : plan.sbatch) {
    if (option == "--job-name") identity.name = value;
  }
  return identity;
}

bool is_same_job(const JobIdentity& ours, std::string_view origin) {
  if (origin.empty()) return true;
  const bool named = origin.starts_with(ours.name + "|");
  if (ours.script.empty()) return named;
  return origin.ends_with("|" + ours.script) || (named && !origin.ends_with("/job.sbatch"));
}

void remember_cluster(World& world, const RunDir& run, const std::string& id) {
  const auto cluster = own_cluster(world);
  if (cluster.empty()) return;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const Json record = {
      {"id", id}, {"cluster", cluster}, {"submitted", std::chrono::duration<double>(now).count()}};
  const auto written =
      write_file(job_json(run), record.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
  if (!written) world.note("dllaunch: " + written.error().what + "\n");
}

Result<Ok> check_cluster(World& world, const RunDir& run, const std::string& id) {
  const auto theirs = cluster_of(world, run, id);
  if (theirs.empty()) return Ok{};
  const auto here = own_cluster(world);
  if (here.empty() || here == theirs) return Ok{};
  return Error{ErrorKind::unavailable,
               fmt::format("job {} of {} was submitted on cluster {}, this is cluster {}", id,
                           run.path, theirs, here),
               fmt::format("log in to {} and repeat it there", theirs)};
}

}  // namespace dllaunch
