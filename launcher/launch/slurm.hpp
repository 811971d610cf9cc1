// Executes a plan through Slurm: submits it and follows it through the queue and the run to its
// end.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "launcher/monitor/follow.hpp"
#include "launcher/os/system.hpp"
#include "launcher/run/outcome.hpp"
#include "launcher/run/run_dir.hpp"
#include "launcher/slurm/job_identity.hpp"
#include "launcher/slurm/slurm_job.hpp"

namespace dllaunch {

struct LaunchPlan;
struct RunOutline;

enum class StopChoice { go_on, detach, cancel };

/// Asks at the terminal what becomes of the job, for at most a minute.
StopChoice ask_at_terminal();

struct SlurmSettings {
  bool detach = false;                   // return when the job is queued
  bool at_once = false;                  // cancel without asking the ranks to save
  bool cancel = false;                   // ask the ranks to save and exit now
  std::function<StopChoice()> ask = {};  // at Ctrl-C; empty: no terminal, cancel
  std::chrono::milliseconds first_look = std::chrono::seconds(1);
  // Upper bounds of the polling interval for a running and a pending job.
  std::chrono::milliseconds longest_look = std::chrono::seconds(5);
  std::chrono::milliseconds longest_wait = std::chrono::seconds(30);
  std::chrono::milliseconds controller_patience = std::chrono::minutes(30);
  // For a run that has ended, how long to wait until its job has left the queue.
  std::chrono::milliseconds completing_patience = std::chrono::seconds(10);
  // Pause between two searches for a job when sbatch did not report whether it was accepted.
  std::chrono::milliseconds settle = std::chrono::seconds(10);
};

/// Returns the job of a submission that an earlier dllaunch recorded and did not finish; its id is
/// then in RUN/job.id. nullopt: there is none, and a new one may be submitted. unavailable,
/// timeout: Slurm does not say.
Result<std::optional<std::string>> job_of_open_intent(const RunDir& run, System& system,
                                                      const SlurmSettings& settings);

/// Submits RUN/job.sbatch and follows the job until it ends, is cancelled or detached. Waits for a
/// controller that is briefly unreachable. bad_request, unavailable, timeout: as submit_job.
/// unavailable: unreachable for too long.
Result<Outcome> execute_slurm(const LaunchPlan& plan, const RunDir& run, Follower& follower,
                              System& system, const SlurmSettings& settings);

/// Follows a job that was submitted earlier.
Result<Outcome> attach_slurm(const RunOutline& plan, const RunDir& run, const JobIdentity& job,
                             Follower& follower, System& system, const SlurmSettings& settings);

}  // namespace dllaunch
