#include "launcher/run/job_record.hpp"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <utility>

#include "launcher/base/shown_line.hpp"
#include "launcher/base/unix_seconds.hpp"
#include "launcher/os/atomic_file.hpp"
#include "launcher/os/stored_json.hpp"
#include "launcher/run/kept_files.hpp"
#include "launcher/run/rank_logs.hpp"
#include "launcher/run/run_index.hpp"
#include "launcher/run/stored_run.hpp"
#include "launcher/run/submit_folder.hpp"
#include "launcher/slurm/input_variables.hpp"
#include "launcher/slurm/slurm_job.hpp"
#include "support/held_folder.hpp"
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

/// Of the run's directory and its files that say which job is the run's, the first that is neither
/// the user's nor root's; "" : none.
std::string not_of(uid_t user, const RunDir& run, uid_t& owner) {
  const auto is_not = [&](const struct stat& info) {
    owner = info.st_uid;
    return info.st_uid != user && info.st_uid != 0;
  };
  struct stat info {};
  if (stat(run.path.c_str(), &info) == 0 && is_not(info)) return run.path;
  for (const auto& path :
       {run.path, run.plan_json(), run.job_id(), run.job_json(), run.sbatch_script()})
    if (lstat(path.c_str(), &info) == 0 && is_not(info)) return path;
  return "";
}

/// Whether a path is another run's directory, or a copy of this one's. Two mounts may show the same
/// directory as different devices.
bool is_another(const std::string& path, const RunDir& run) {
  struct stat own {};
  struct stat other {};
  if (stat(run.path.c_str(), &own) != 0 || stat(path.c_str(), &other) != 0) return false;
  if (own.st_dev == other.st_dev) return own.st_ino != other.st_ino;
  return read_run_id(path) != read_run_id(run.path);
}

/// What Slurm tells of a job that dllaunch did not submit for this run; "": nothing.
std::string why_not_own(System& system, const RunOutline& plan, const RunDir& run,
                        const SlurmJob& job) {
  uid_t owner = 0;
  const auto path = job.user ? not_of(*job.user, run, owner) : "";
  // Of a file system that gives all files to one user, the job's script tells.
  if (!path.empty() && !shows_one_owner(run.path, owner))
    return fmt::format("it is a job of {}, and {} belongs to {}", user_name(*job.user), path,
                       user_name(owner));
  constexpr std::string_view script_name = "/job.sbatch";
  const auto script = script_of(job.origin);
  struct stat copy {};
  if (script != run.sbatch_script() && is_script_of(run, script) && job.user &&
      (stat(script.c_str(), &copy) != 0 || copy.st_uid == *job.user))
    return "";
  const auto dir = script.substr(0, script.size() - std::min(script.size(), script_name.size()));
  if (script.ends_with(script_name) && is_another(dir, run)) return "it is that of " + dir;
  std::error_code missing;
  // What its user renames or moves since (scontrol update) is the run's still.
  if (script.ends_with(script_name) && std::filesystem::equivalent(dir, run.path, missing))
    return "";
  const auto ours = identity_of(plan, run, job.id);
  if (ours.token.empty()) return "";  // a script of the user's own may be named and lie anywhere
  if (!job.name.empty() && job.name != ours.name)
    return fmt::format("it is named {}, and the run's {}", shown_line(job.name),
                       shown_line(ours.name));
  const auto text = system.read_file(run.sbatch_script());
  const auto options = options_of_script(text ? *text : "");
  const bool moves = std::ranges::any_of(options, [](const std::string& option) {
    return option.starts_with("--chdir") || option.starts_with("-D");
  });
  const auto folder = submit_folder(system, run.path);
  const bool elsewhere = folder && !moves && !job.work_dir.empty() &&
                         !std::filesystem::equivalent(*folder, job.work_dir, missing) && !missing;
  return elsewhere ? "it was submitted in " + job.work_dir : "";
}

}  // namespace

Result<Ok> check_own_job(System& system, const RunOutline& plan, const RunDir& run,
                         const std::string& id) {
  if (const auto path = whole_of(run.path); !path.empty()) {
    const auto whole = read_stored_run(system, path);
    if (!whole) return whole.error();
    return check_own_job(system, whole->plan, whole->dir, whole->job_id);
  }
  const auto records = jobs_of_controller(system, id);
  if (records.silent)
    return Error{ErrorKind::unavailable,
                 fmt::format("Slurm does not tell whose job {} is: nothing was done", id),
                 "try again"};
  const auto why = records.jobs.empty() ? "" : why_not_own(system, plan, run, records.jobs.front());
  if (why.empty()) return Ok{};
  return Error{ErrorKind::bad_request,
               fmt::format("job {} is not that of {}: {}; nothing was done", id, run.path, why),
               "scontrol show job " + id};
}

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
                  const std::string& token, const std::string& script) {
  Json record = {{"id", id},
                 {"cluster", OwnCluster(system).name()},
                 {"token", token},
                 {"submitted", unix_seconds()}};
  if (script != run.sbatch_script()) record["script"] = script;
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
