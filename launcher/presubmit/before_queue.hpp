// Everything that can be known to be wrong with a job before it waits in the queue, in one go.
#pragma once

#include <string>

#include "launcher/cluster/facts.hpp"
#include "launcher/job/job.hpp"
#include "launcher/os/system.hpp"
#include "launcher/plan/plan.hpp"
#include "launcher/presubmit/finding.hpp"
#include "support/json.hpp"

namespace dllaunch {

struct QueueReport {
  CheckFindings findings = {};
  std::string estimate = {};  // sbatch's own: when and where it would start; empty: it gave none

  bool passed() const;
};

/// `made` is the plan, or why there is none: the checks that need none are made all the same.
/// `recorded`: the facts are of a cluster that is not here, so they alone are looked at.
QueueReport check_before_queue(const Job& job, const Facts& facts, const Paths& paths,
                               const Result<LaunchPlan>& made, bool recorded, System& system);

/// All that is fatal as one error; bad_request where any of it is the job file's.
Error as_error(const QueueReport& report);

/// For people: "  ok    ..." and "  error ...", with what to do next.
std::string render_report(const QueueReport& report);
/// [{"fatal", "what", "hint"}], and the estimate or null.
Json to_json(const QueueReport& report);

}  // namespace dllaunch
