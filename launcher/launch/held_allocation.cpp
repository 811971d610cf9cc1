#include "launcher/launch/held_allocation.hpp"

#include <fmt/format.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "launcher/base/shell_quote.hpp"
#include "launcher/launch/slurm.hpp"
#include "launcher/monitor/follow.hpp"
#include "launcher/os/atomic_file.hpp"
#include "launcher/os/stored_json.hpp"
#include "launcher/postmortem/finalize.hpp"
#include "launcher/run/job_record.hpp"
#include "launcher/run/kept_files.hpp"
#include "launcher/run/rank_logs.hpp"
#include "launcher/run/run_dir.hpp"
#include "launcher/run/run_index.hpp"
#include "launcher/run/stored_run.hpp"

namespace dllaunch {
namespace {

/// The options of the widest run's job, changed to what the command needs.
LaunchPlan plan_of(const HeldAllocation& held) {
  LaunchPlan plan = held.plan;
  plan.name = held.name;
  plan.paths.run_dir = held.dir;
  plan.signal = "TERM";
  plan.asks_ranks = true;
  for (auto& [option, value] : plan.sbatch) {
    if (option == "--job-name") value = held.name;
    if (option == "--output") value = escape_file_pattern(held.dir) + "/slurm-%j.out";
    if (option == "--signal") value = fmt::format("B:TERM@{}", plan.grace_seconds);
  }
  return plan;
}

std::string script_of(const LaunchPlan& plan, const HeldAllocation& held) {
  std::string text = "#!/bin/bash\n";
  for (const auto& argument : sbatch_arguments(plan)) text += "#SBATCH " + argument + "\n";
  return text + fmt::format(
                    "\n# Written by dllaunch. Its runs take place in this job's nodes.\n"
                    "cd -- {} || exit 3\nexec {} 2>> {}\n",
                    shell_quote(plan.paths.work_dir), shell_join(held.command),
                    shell_quote(driver_log(held.dir)));
}

std::uintmax_t bytes_in(const std::string& path) {
  std::error_code missing;
  const auto size = std::filesystem::file_size(path, missing);
  return missing ? 0 : size;
}

/// So that `ps`, `status` and `cancel` know the job. Names the copies in the plan.
Result<Ok> keep_files(System& system, const RunDir& run, LaunchPlan& plan,
                      const std::string& script) {
  if (const auto state = state_folder(system))
    if (auto gone = forget_kept_files(*state, run.path); !gone) return gone;
  const auto write = [&](const RunDir& into) {
    return write_files(
        {{into.plan_json(), json_text(to_json(plan))}, {into.sbatch_script(), script}});
  };
  auto written = write(run);
  plan.paths.files = written ? kept_folder(system, run.path, /*make=*/true) : "";
  if (!plan.paths.files.empty()) written = write({.path = plan.paths.files});
  if (written) (void)remember_run(system, run);
  return written;
}

/// Whether the script came to its end: it was not stopped before its time limit, killed or lost.
bool ended_by_itself(System& system, const RunDir& run) {
  const auto id = system.read_file(run.job_id());
  const auto job = id ? finished_job(system, job_id_in(*id).value_or("")) : std::nullopt;
  if (!job) return true;  // Slurm has forgotten it
  return job->state == "COMPLETED" ||
         (job->state == "FAILED" && job->signal == 0 && job->exit_code > 0 && job->exit_code < 128);
}

/// The job of an earlier execution, if it is in the queue. Its id; nullopt: none.
Result<std::optional<std::string>> earlier_job(System& system, const LaunchPlan& plan,
                                               const RunDir& run) {
  if (auto open = job_of_open_intent(run, system, {}); !open) return std::move(open).error();
  auto job = job_of_run(plan, run, system);
  if (!job) return std::move(job).error();
  if (!*job) return std::optional<std::string>();
  if (auto own = check_own_job(system, plan, run, (*job)->id); !own) return std::move(own).error();
  system.log(fmt::format("dllaunch: job {} is {}: following it\n", (*job)->id, (*job)->state));
  return std::optional((*job)->id);
}

}  // namespace

std::int64_t held_minutes(std::int64_t minutes, int grace_seconds) {
  return minutes + (grace_seconds + 59) / 60 + 1;
}

std::string driver_log(const std::string& dir) {
  return dir + "/driver.log";
}

std::string render_held(const HeldAllocation& held) {
  return script_of(plan_of(held), held);
}

Result<int> execute_held(System& system, const HeldAllocation& held) {
  const RunDir run{.path = held.dir};
  const auto parent = std::filesystem::path(held.dir).parent_path().string();
  for (const auto& folder : {parent, run.path, run.out()})
    if (const int failed = make_private_folder(folder); failed != 0)
      return Error{ErrorKind::bad_request,
                   fmt::format("cannot make {}: {}", folder, std::strerror(failed)), ""};
  auto lock = RunLock::take(run);
  if (!lock) return std::move(lock).error();
  auto plan = plan_of(held);
  auto earlier = earlier_job(system, plan, run);
  if (!earlier) return std::move(earlier).error();
  FollowSettings follow{.show_logs = true,
                        .terminal = system.console().terminal_err,
                        .plain = {driver_log(held.dir)}};
  if (*earlier) follow.attached_at_s = changed_at_s(run.job_id());
  Follower follower(system, run, follow);
  if (!*earlier)
    if (auto written = keep_files(system, run, plan, script_of(plan, held)); !written)
      return std::move(written).error();
  const auto said_before = bytes_in(driver_log(held.dir));
  const auto outcome =
      *earlier ? attach_slurm(plan, run, identity_of(plan, run, **earlier), follower, system, {})
               : execute_slurm(plan, run, follower, system, {});
  if (!outcome) return outcome.error();
  if (outcome->detached) return SIGHUP;
  if (outcome->status == RunStatus::cancelled && outcome->exit_code > 128)
    return outcome->exit_code - 128;
  // The command says itself what went wrong, unless it was stopped.
  const bool ended = ended_by_itself(system, run);
  const bool told = *earlier || bytes_in(driver_log(held.dir)) > said_before;
  if (!ended || (outcome->status == RunStatus::failed && !told))
    system.log(render_failure(*outcome));
  return ended ? 0 : SIGTERM;
}

}  // namespace dllaunch
