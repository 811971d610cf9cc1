#include "launcher/supervise/decision_record.hpp"

#include <chrono>

namespace dllaunch {

JournalDecision record_of(const Decision& decision, const SupervisedRun& run, double time,
                          bool wanted_requeue) {
  const double hold_s = std::chrono::duration<double>(decision.hold).count();
  return {.time = time,
          .job = run.job(),
          .allocation = run.allocation.restarts,
          .next = decision.next,
          .reason = decision.reason,
          .status = decision.status,
          .exit_code = decision.exit_code,
          .wanted_requeue = wanted_requeue,
          .exclude = decision.exclude,
          .until = decision.next == Next::hold ? time + hold_s : 0};
}

Decision decision_of(const JournalDecision& record, const SupervisedRun& run) {
  return {.next = record.next,
          .reason = record.reason,
          .ask_slurm = run.recovery.asks_ranks,
          .status = record.status,
          .exit_code = record.exit_code,
          .exclude = record.exclude};
}

}  // namespace dllaunch
