// Checks a job for everything that can be known to fail before it waits in the queue.
// Does not change or submit the job, and starts no processes on its nodes.
#pragma once

#include <string>

#include "launcher/cluster/facts.hpp"
#include "launcher/job/job.hpp"
#include "launcher/os/system.hpp"
#include "launcher/plan/program_paths.hpp"
#include "launcher/presubmit/finding.hpp"
#include "support/json.hpp"

namespace dllaunch {

struct LaunchPlan;

struct QueueReport {
  CheckFindings findings = {};
  std::string estimate = {};  // sbatch's estimate of start and nodes; empty: none
  /// Why there is no estimate, though sbatch accepts the job; empty: it did not say or was not
  /// asked.
  std::string no_estimate = {};

  bool passed() const;
};

/// What the job needs of this machine: its files and modules.
QueueReport check_here(const Job& job, const Paths& paths, System& system);

/// `made`: the plan, or why there is none; checks that need no plan run anyway. `recorded`: the
/// facts are of another cluster, so only they are checked.
QueueReport check_before_queue(const Job& job, const Facts& facts, const Paths& paths,
                               const Result<LaunchPlan>& made, bool recorded, System& system);

/// "asked for 9 nodes, partition gpu has 2 [nodes]"
std::string text_with_id(const CheckFinding& finding);

/// What is known of the start, in a sentence; empty: nothing, or nothing would be submitted.
std::string estimate_words(const QueueReport& report);

/// All fatal findings, with their ids, as one error; bad_request if any is the job file's fault.
Error as_error(const QueueReport& report);

/// Lines for people: "  ok    ..." and "  error ...", with what to do next.
std::string render_report(const QueueReport& report);
/// [{"fatal", "id", "what", "hint"}], and the estimate or null.
Json to_json(const QueueReport& report);

}  // namespace dllaunch
