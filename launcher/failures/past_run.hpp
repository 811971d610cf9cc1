// What failures cost a run that has run, as its own records tell it.
#pragma once

#include <optional>
#include <string>

#include "launcher/failures/failure_forecast.hpp"
#include "launcher/run/stored_run.hpp"
#include "support/json.hpp"

namespace dllaunch {

/// Of the newest submission.
struct PastRun {
  int interruptions = 0;  // by failures: not by the time limit, preemption or a person
  int requeues = 0;       // of the job, for whatever reason
  // Of trainings, whose events tell it; nullopt: of other programs, or before the first step.
  std::optional<double> work_s = {};     // step time that was not lost
  std::optional<double> elapsed_s = {};  // from the first start to the last event, with the queue
  double lost_s = 0;                     // step time that was lost
  double down_s = 0;                     // from a last event to the next step, without the queue
  double queue_s = 0;                    // in the queue, after a requeue
  // Mean costs, as far as the run met them: from the last event before a restart to the next step
  // in the same allocation, and how much longer that took through the queue; all of it, if
  // `restart_s` is unknown.
  std::optional<double> restart_s = {};
  std::optional<double> requeue_s = {};

  /// Effective training time, 0 .. 1: defined as for a forecast (simulated_run.hpp).
  std::optional<double> effective() const;
};

PastRun read_past_run(const StoredRun& run);

/// The costs of a failure as the run met them; `otherwise` where it met none. What passed before a
/// failure was known is part of `restart_s`: the records do not tell them apart. Where all went
/// through the queue, the queue is what `otherwise` leaves of `requeue_s`.
FailureCosts costs_met(const PastRun& run, FailureCosts otherwise = {});

/// Lines of a report; empty: nothing interrupted the run, and `forecast` is null.
std::string render_past_run(const PastRun& run, const FailureForecast* forecast);
/// null where that is empty.
Json to_json(const PastRun& run, const FailureForecast* forecast);

}  // namespace dllaunch
