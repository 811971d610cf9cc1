#include "launcher/run/job_record.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <utility>

#include "launcher/base/unix_seconds.hpp"
#include "launcher/os/atomic_file.hpp"
#include "launcher/os/stored_json.hpp"
#include "launcher/run/kept_files.hpp"
#include "launcher/run/rank_logs.hpp"
#include "launcher/slurm/slurm_job.hpp"
#include "support/json_fields.hpp"

namespace dllaunch {
namespace {

/// RUN/job.json; all fields empty: no valid record of this job.
struct JobRecord {
  std::string cluster = {};
  std::string token = {};
  std::string script = {};
  double submitted_s = 0;
};

JobRecord record_of(const RunDir& run, const std::string& id) {
  constexpr std::size_t most_bytes = 65536;
  const auto object = json_object_in(file_end(run.job_json(), most_bytes));
  if (id.empty() || value_at<std::string>(object, "id") != id) return {};
  return {.cluster = value_at<std::string>(object, "cluster"),
          .token = token_in(value_at<std::string>(object, "token")),
          .script = value_at<std::string>(object, "script"),
          .submitted_s = value_at<double>(object, "submitted")};
}

void keep(System& system, const RunDir& run, const Json& record) {
  const auto written = write_file(run.job_json(), json_text(record));
  if (!written) system.log("dllaunch: " + written.error().what + "\n");
}

}  // namespace

JobIdentity identity_of(const RunOutline& plan, const RunDir& run, const std::string& id) {
  auto record = record_of(run, id);
  JobIdentity identity{.id = id,
                       .name = plan.name,
                       .script = std::move(record.script),
                       .token = std::move(record.token),
                       .submitted_s = record.submitted_s};
  const auto script = run.sbatch_script();
  if (identity.script.empty() && access(script.c_str(), F_OK) == 0) identity.script = script;
  for (const auto& [option, value] : plan.sbatch) {
    if (option == "--job-name") identity.name = value;
  }
  return identity;
}

void remember_job(System& system, const RunDir& run, const std::string& id,
                  const std::string& token) {
  Json record = {{"id", id},
                 {"cluster", OwnCluster(system).name()},
                 {"token", token},
                 {"submitted", unix_seconds()}};
  if (auto script = script_to_submit(system, run); script != run.sbatch_script())
    record["script"] = std::move(script);
  keep(system, run, record);
}

void remember_own_script(System& system, const RunDir& run, const SlurmJob& job) {
  const auto script = script_of(job.origin);
  const auto submitted = parse_slurm_time(job.submit);
  if (access(run.sbatch_script().c_str(), F_OK) == 0 || script.empty() || !submitted) return;
  keep(system, run,
       {{"id", job.id},
        {"cluster", OwnCluster(system).name()},
        {"script", script},
        {"submitted", *submitted}});
}

Result<Ok> check_cluster(const RunDir& run, const std::string& id, OwnCluster& here) {
  const auto theirs = record_of(run, id).cluster;
  if (theirs.empty()) return Ok{};
  if (here.name().empty() || here.name() == theirs) return Ok{};
  return Error{ErrorKind::unavailable,
               fmt::format("job {} of {} was submitted on cluster {}, this is cluster {}", id,
                           run.path, theirs, here.name()),
               fmt::format("log in to {} and repeat the command there", theirs)};
}

Result<Ok> check_cluster(System& system, const RunDir& run, const std::string& id) {
  OwnCluster here(system);
  return check_cluster(run, id, here);
}

Result<std::optional<QueuedJob>> job_of_run(const RunOutline& plan, const RunDir& run,
                                            System& system) {
  auto text = system.read_file(run.job_id());
  const auto id = text ? job_id_in(*text) : std::nullopt;
  if (!id) return std::optional<QueuedJob>();  // no job was submitted
  auto queued = queued_jobs(system, *id);
  if (!queued)
    return std::move(queued).error().within("is job " + *id + " of this run still there");
  const auto ours = identity_of(plan, run, *id);
  for (auto& job : *queued) {
    if (is_final_state(job.state) || !is_same_job(ours, job.origin)) continue;
    job.id = *id;
    return std::optional<QueuedJob>(std::move(job));
  }
  if (auto here = check_cluster(system, run, *id); !here) return std::move(here).error();
  return std::optional<QueuedJob>();
}

}  // namespace dllaunch
