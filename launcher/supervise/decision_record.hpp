// A decision as a line of supervisor.jsonl, and back.
#pragma once

#include "launcher/run/journal.hpp"
#include "launcher/supervise/policy.hpp"
#include "launcher/supervise/supervised_run.hpp"

namespace dllaunch {

/// `time`: Unix seconds. `wanted_requeue`: see JournalDecision.
JournalDecision record_of(const Decision& decision, const SupervisedRun& run, double time,
                          bool wanted_requeue);

/// The decision that a killed supervisor did not carry out; what it needs of Slurm is asked again.
Decision decision_of(const JournalDecision& record, const SupervisedRun& run);

}  // namespace dllaunch
