#include "launcher/cli/commands/experiments/failure_options.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "launcher/base/time_span.hpp"
#include "launcher/failures/assumptions.hpp"
#include "launcher/failures/read_failures.hpp"

namespace dllaunch {

void add_failure_options(CommandOptions& app, FailureQuestion& question) {
  auto* source =
      app.add_option(
             "--failures", question.source,
             "forecast what failing nodes cost, at the rates of a cluster profile, of a CSV "
             "file of outages, or of the node book (book)")
          ->type_name("PROFILE")
          ->check([](const std::string& value) {
            return value.empty() ? "names a cluster profile, a CSV file of outages, or book" : "";
          });
  app.add_option("--assume", question.assumed,
                 "for the forecast; may be repeated: " + assumption_keys())
      ->type_name("KEY=TIME")
      ->allow_extra_args(false)
      ->needs(source);
}

Result<FailureForecast> forecast_of(System& system, const FailureQuestion& question,
                                    const ForecastJob& job) {
  if (job.plan.launcher != Launcher::slurm)
    return Error{ErrorKind::unsatisfiable,
                 "--failures forecasts jobs on Slurm, and this one runs on this machine",
                 job.without_slurm};
  const auto assumed = parse_assumptions(question.assumed, job.costs);
  if (!assumed) return assumed.error();
  auto rules = rules_of(job.plan, job.trains, job.train_json, *assumed);
  auto work_s = assumed->work_s ? assumed->work_s : job.work_s;
  if (!work_s) {
    work_s = time_limit_s(job.plan);
    // Work as long as the limit does not end within it.
    if (!rules.requeue_timeout) rules.limit_s = 0;
  }
  if (!work_s)
    return Error{ErrorKind::bad_request, "the forecast needs to know how long the job trains",
                 "pass --assume work=14d, or set resources.time"};
  const auto rates = read_failure_rates(system, question.source, job.plan.node_book);
  if (!rates) return rates.error();
  if (training_before_limit_s(rules, assumed->costs) <= 0)
    return Error{ErrorKind::unsatisfiable,
                 fmt::format("the time limit of {} leaves no training: the start takes {}, and the "
                             "ranks are told to end {} before it",
                             time_span(rules.limit_s), time_span(assumed->costs.restart_s),
                             time_span(rules.grace_s)),
                 "give resources.time more, or say how long a start takes: --assume restart=TIME"};
  const auto hits = hit_rates(*rates, rules.nodes + rules.spare_nodes);
  const double rounds = expected_rounds(hits, rules, assumed->costs, *work_s);
  if (rounds > most_rounds_of_run)
    return Error{
        ErrorKind::unsatisfiable,
        fmt::format("{} of training would meet {:.0f} failures, time limits and fortnights, "
                    "and at most {:.0f} are simulated",
                    time_span(*work_s), rounds, most_rounds_of_run),
        fmt::format("forecast a part of it: --assume work={:.0f}min",
                    std::floor(*work_s / 60 * most_rounds_of_run / rounds))};
  return forecast_failures(*rates, rules, assumed->costs, *work_s);
}

}  // namespace dllaunch
