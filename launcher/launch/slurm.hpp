// A plan carried out by Slurm: submitted, followed through the queue and the run, to its end.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "launcher/monitor/follow.hpp"
#include "launcher/os/system.hpp"
#include "launcher/plan/plan.hpp"
#include "launcher/run/outcome.hpp"
#include "launcher/run/run_dir.hpp"
#include "launcher/slurm/job_identity.hpp"
#include "launcher/slurm/slurm_job.hpp"

namespace dllaunch {

enum class StopChoice { go_on, detach, cancel };

struct SlurmSettings {
  bool detach = false;                   // return when the job is in the queue
  bool at_once = false;                  // to cancel is not to ask the ranks to save first
  bool cancel = false;                   // ask for a checkpoint and an end, at once
  std::function<StopChoice()> ask = {};  // at Ctrl-C; empty: no terminal, cancel
  std::chrono::milliseconds first_look = std::chrono::seconds(1);
  // Between two questions to a controller that serves everybody: of a job that runs, that waits.
  std::chrono::milliseconds longest_look = std::chrono::seconds(5);
  std::chrono::milliseconds longest_wait = std::chrono::seconds(30);
  std::chrono::milliseconds controller_patience = std::chrono::minutes(30);
  // Between two looks for a job of which sbatch did not say whether it was taken.
  std::chrono::milliseconds settle = std::chrono::seconds(10);
};

/// The job of a submission that an earlier dllaunch meant and did not see the end of; its number is
/// in RUN/job.id then. Nothing: there is none, and a new one may be submitted.
/// unavailable, timeout: Slurm does not say.
Result<std::optional<std::string>> job_of_open_intent(const RunDir& run, System& system,
                                                      const SlurmSettings& settings);

/// Submits RUN/job.sbatch and stays with it until it ended, was cancelled or let go. A controller
/// that is silent for a while is waited for.
/// bad_request, unavailable, timeout: as submit_job. unavailable: silent for too long.
Result<Outcome> execute_slurm(const LaunchPlan& plan, const RunDir& run, Follower& follower,
                              System& system, const SlurmSettings& settings);

/// Stays with a job that was submitted earlier, by us or another dllaunch.
Result<Outcome> attach_slurm(const LaunchPlan& plan, const RunDir& run, const JobIdentity& job,
                             Follower& follower, System& system, const SlurmSettings& settings);

}  // namespace dllaunch
