#include "launcher/supervise/orphan_ranks.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <csignal>

#include "launcher/os/descendants.hpp"
#include "launcher/slurm/client.hpp"
#include "launcher/supervise/rank_states.hpp"
#include "support/counted.hpp"

namespace dllaunch {
namespace {

constexpr std::chrono::seconds patience(10);  // per query to Slurm

/// Returns the processes of this job; another job of the same run has its own. Ranks of a component
/// have the job of the first.
std::vector<pid_t> pids_here(const RunDir& run, const JobAllocation& allocation) {
  auto pids = pids_of_run(run.path);
  const auto& job = allocation.leader.empty() ? allocation.job : allocation.leader;
  std::erase_if(pids,
                [&](pid_t pid) { return variable_of(pid, "SLURM_JOB_ID").value_or("") != job; });
  return pids;
}

bool is_number(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

}  // namespace

std::vector<std::string> steps_of_run(const RunDir& run, const JobAllocation& allocation) {
  std::vector<std::string> steps;
  for (const pid_t pid : pids_here(run, allocation)) {
    const auto number = variable_of(pid, "SLURM_STEP_ID").value_or("");
    const auto step = allocation.job + "." + number;
    const bool known = std::ranges::find(steps, step) != steps.end();
    if (is_number(number) && !known) steps.push_back(step);
  }
  return steps;
}

void kill_ranks_here(const RunDir& run, const JobAllocation& allocation) {
  for (const pid_t pid : pids_here(run, allocation)) kill(pid, SIGKILL);
}

void end_steps(System& system, const std::vector<std::string>& steps) {
  for (const auto& step : steps) {
    const auto done = kill_step(system, step, patience);
    if (!done) system.log(fmt::format("dllaunch: {}\n", done.error().what));
  }
}

void end_orphan_ranks(System& system, const RunDir& run, const JobAllocation& allocation) {
  if (allocation.job.empty()) return;
  // Look up the steps before ending any process: an ended one no longer names its step.
  const auto steps = steps_of_run(run, allocation);
  const auto pids = pids_here(run, allocation);
  if (pids.empty()) return;
  system.log(fmt::format("dllaunch: ended {} of an earlier start that still ran\n",
                         counted(std::ssize(pids), "process")));
  kill_ranks_here(run, allocation);
  end_steps(system, steps);
}

}  // namespace dllaunch
