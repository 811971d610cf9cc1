#include "launcher/failures/past_run.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "launcher/base/shown_line.hpp"
#include "launcher/base/time_span.hpp"
#include "launcher/failures/render_forecast.hpp"
#include "launcher/os/line_tail.hpp"
#include "launcher/run/history.hpp"
#include "launcher/run/journal.hpp"
#include "support/counted.hpp"
#include "support/json_fields.hpp"

namespace dllaunch {
namespace {

bool is_failure(const Attempt& attempt) {
  switch (attempt.cause) {
    case Cause::lost_node:
    case Cause::failed:
    case Cause::stalled:
    case Cause::unproven:
    case Cause::storage:
    case Cause::corrupted:
      return true;
    default:
      return false;
  }
}

struct Past {
  History history = {};
  double first_s = 0;  // of the first event; 0: none
};
Past read_events(const StoredRun& run) {
  Past past;
  for_each_line(run.dir.events(), [&](const std::string& line) {
    const auto event = parse_event(line);
    if (!event) return;
    const double time = time_of(*event);
    if (time < run.began_at_s) {
      past.history.recall(*event);
      return;
    }
    past.history.take(*event);
    if (past.first_s == 0) past.first_s = time;
  });
  return past;
}

/// When the ranks were started first; 0: unknown.
double first_start_s(const StoredRun& run) {
  double first = 0;
  for_each_line(run.dir.path + "/supervisor.jsonl", [&](const std::string& line) {
    if (first > 0) return;
    const auto json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (value_at<std::string>(json, "event") != "attempt") return;
    if (value_at<std::string>(json, "job") == run.job_id) first = value_at<double>(json, "time");
  });
  return first;
}

void add_mean_costs(const std::vector<Restart>& restarts, PastRun& past) {
  double here_s = 0;
  double requeued_s = 0;
  int here = 0;
  int requeued = 0;
  for (const auto& restart : restarts) {
    if (!restart.down_seconds) continue;
    const double seconds = *restart.down_seconds + restart.queue_seconds;
    const bool in_queue = restart.queue_seconds > 0;
    (in_queue ? requeued_s : here_s) += seconds;
    ++(in_queue ? requeued : here);
  }
  if (here > 0) past.restart_s = here_s / here;
  if (requeued > 0)
    past.requeue_s = std::max(0.0, requeued_s / requeued - past.restart_s.value_or(0));
}

/// Whether it is as was to be expected.
std::string verdict(const PastRun& run, const RunForecast& expected) {
  const auto effective = run.effective();
  if (!effective) return "";
  if (*effective < expected.effective.p10) return ": it was worse than 9 of 10 simulated runs";
  if (*effective > expected.effective.p90) return ": it was better than 9 of 10 simulated runs";
  return ": it was like 8 of 10 simulated runs";
}

std::string outcome_words(const PastRun& run) {
  auto text = counted(run.interruptions, "interruption");
  if (const auto effective = run.effective())
    text += fmt::format(", effective training time {:.1f} %: lost {}, down {}, in the queue {}",
                        100 * *effective, time_span(run.lost_s), time_span(run.down_s),
                        time_span(run.queue_s));
  return text;
}

}  // namespace

std::optional<double> PastRun::effective() const {
  if (!work_s || !elapsed_s || *elapsed_s <= 0) return std::nullopt;
  return std::min(1.0, *work_s / *elapsed_s);
}

PastRun read_past_run(const StoredRun& run) {
  PastRun past;
  // A run without Slurm has attempts without a job.
  const auto attempts = read_journal(run.dir).history;
  for (const auto& attempt : attempts) {
    // The newest may still run; another that is cut short ended with the script's node.
    const bool cut = attempt.cause == Cause::cut_short && &attempt != &attempts.back();
    if (attempt.job != run.job_id) continue;
    if (cut || is_failure(attempt)) ++past.interruptions;
    past.requeues = std::max(past.requeues, attempt.allocation);
  }
  if (!run.trains) return past;
  const auto [history, first_s] = read_events(run);
  if (history.step_seconds() <= 0) return past;
  past.work_s = history.step_seconds();
  // Not the summary's time, which includes Slurm's after the end: a minute after a node was lost.
  const double started_s = first_start_s(run);
  const double launch_s = started_s > 0 ? std::max(0.0, first_s - started_s) : 0;
  past.elapsed_s = launch_s + history.span_seconds() + history.queue_seconds();
  past.lost_s = history.lost_seconds();
  past.down_s = history.interrupted_seconds();
  past.queue_s = history.queue_seconds();
  add_mean_costs(history.restarts(), past);
  return past;
}

FailureCosts costs_met(const PastRun& run, FailureCosts otherwise) {
  if (run.restart_s) {
    otherwise.restart_s = *run.restart_s;
    otherwise.detect_s = otherwise.node_down_s = 0;
  }
  if (!run.requeue_s) return otherwise;
  double left_s = *run.requeue_s;
  // Without a restart in the same allocation all of it is in the requeue.
  if (!run.restart_s) {
    otherwise.restart_s = std::min(otherwise.restart_s, left_s);
    left_s -= otherwise.restart_s;
    otherwise.detect_s = std::min(otherwise.detect_s, left_s);
    otherwise.node_down_s = std::min(otherwise.node_down_s, left_s);
    left_s -= std::max(otherwise.detect_s, otherwise.node_down_s);
  }
  otherwise.queue_s = left_s;
  return otherwise;
}

std::string render_past_run(const PastRun& run, const FailureForecast* forecast) {
  if (run.interruptions == 0 && forecast == nullptr) return "";
  auto text = labelled("failures", outcome_words(run));
  if (forecast == nullptr) return text;
  const auto& expected = forecast->run;
  text += labelled("forecast", counts(expected.interruptions) + " interruptions, " +
                                   percent(expected.effective) + verdict(run, expected));
  text += labelled("", "with plain requeueing " + percent(forecast->plain.effective));
  text += labelled("", "rates of " + shown_line(forecast->rates.source));
  text += labelled("", "costs met by the run, or assumed: " + costs_words(forecast->costs));
  return text;
}

Json to_json(const PastRun& run, const FailureForecast* forecast) {
  if (run.interruptions == 0 && forecast == nullptr) return nullptr;
  Json json = {{"interruptions", run.interruptions},
               {"effective_training_time", json_of(run.effective())},
               {"work_s", json_of(run.work_s)},
               {"elapsed_s", json_of(run.elapsed_s)},
               {"lost_s", run.lost_s},
               {"down_s", run.down_s},
               {"queue_s", run.queue_s},
               {"requeues", run.requeues},
               {"restart_s", json_of(run.restart_s)},
               {"requeue_s", json_of(run.requeue_s)}};
  if (forecast != nullptr) json["forecast"] = to_json(*forecast, std::nullopt);
  return json;
}

}  // namespace dllaunch
