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
      app.add_option("--failures", question.source,
                     "forecast what failing nodes cost, at a cluster profile's rates or those of a "
                     "CSV file of outages")
          ->type_name("PROFILE")
          ->check([](const std::string& value) {
            return value.empty() ? "names a cluster profile or a CSV file of outages" : "";
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
                 "--failures forecasts jobs on Slurm, and this one runs "
                 "on this machine",
                 "pass --facts, or name the cluster in the job file"};
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
  const auto rates = read_failure_rates(system, question.source);
  if (!rates) return rates.error();
  const double failures = hit_rates(*rates, rules.nodes + rules.spare_nodes).per_s * *work_s;
  if (failures > most_failures_of_run)
    return Error{ErrorKind::unsatisfiable,
                 fmt::format("{} of training would meet {:.0f} failures, and at most {:.0f} are "
                             "simulated",
                             time_span(*work_s), failures, most_failures_of_run),
                 fmt::format("forecast a part of it: --assume work={:.0f}min",
                             std::floor(*work_s / 60 * most_failures_of_run / failures))};
  return forecast_failures(*rates, rules, assumed->costs, *work_s);
}

}  // namespace dllaunch
