#include "launcher/supervise/incarnations.hpp"

#include <fmt/core.h>

#include "launcher/base/unix_seconds.hpp"
#include "launcher/run/events.hpp"
#include "launcher/run/journal.hpp"

namespace dllaunch {
namespace {

/// The current owner's description if this supervisor never owned the run.
std::string lost_to_holder(const SupervisedRun& run, bool started_here) {
  const auto found = run_owner(run.dir.path);
  if (!found || !*found || (*found)->second.host.empty()) return "";
  const auto& holder = (*found)->second;
  const bool ours = holder.job == run.allocation.job;
  const bool lost = ours ? holder.restart > run.allocation.restarts : started_here;
  return lost ? "run directory was taken over by " + to_string(holder) : "";
}

}  // namespace

std::string ownership_lost(const RunOwnership& ownership) {
  const auto ours = ownership.check();
  const bool lost = !ours && ours.error().kind == ErrorKind::unsatisfiable;
  return lost ? ours.error().what : "";
}

bool has_finished(System& system, const SupervisedRun& run) {
  const auto job = finished_in_job(run.dir);
  if (!job || run.allocation.job.empty() || *job != run.job()) return false;
  system.log(
      fmt::format("dllaunch: job {} has already finished this run: nothing to do; a new job "
                  "continues it\n",
                  *job));
  return true;
}

std::string taken_over(System& system, const SupervisedRun& run,
                       const std::optional<RunOwnership>& ownership, bool started_here) {
  auto reason = ownership ? ownership_lost(*ownership) : lost_to_holder(run, started_here);
  if (!reason.empty()) return reason;
  // The job that takes over may still be pending.
  const auto& ours = run.allocation;
  if (ours.job.empty() || !started_here) return "";
  const auto record = ask_of_job(system, ours);
  const bool elsewhere = record && record->restarts > ours.restarts;
  return elsewhere ? fmt::format("Slurm has requeued job {}", ours.job) : "";
}

std::string told_of_restart(System& system, const SupervisedRun& run, const Attempt& before,
                            double told_s, const RunOwnership& ownership) {
  if (!run.recovery.trains || before.job != run.job()) return "";
  std::optional<double> queued = 0;
  if (before.allocation != run.allocation.restarts) {
    const auto record = ask_of_job(system, run.allocation);
    queued = record ? queue_seconds(*record, told_s) : std::nullopt;
  }
  return restart_line({.time = unix_seconds(),
                       .reason = describe(before),
                       .queue_seconds = queued,
                       .fencing_token = ownership.fencing_token()});
}

}  // namespace dllaunch
