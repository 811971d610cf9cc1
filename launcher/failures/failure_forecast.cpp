#include "launcher/failures/failure_forecast.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

#include "support/random.hpp"

namespace dllaunch {
namespace {

constexpr int most_runs = 2000;
constexpr int least_runs = 20;
/// Rounds in all runs of an alternative together: some 10 ms.
constexpr double most_rounds_together = 60'000;
constexpr int most_spares = 8;

Spread spread_of(std::vector<double> values) {
  if (values.empty()) return {};
  std::ranges::sort(values);
  double sum = 0;
  for (const double value : values) sum += value;
  const auto at = [&](double share) {
    const auto last = static_cast<double>(values.size() - 1);
    return values[static_cast<std::size_t>(std::lround(share * last))];
  };
  return {.mean = sum / static_cast<double>(values.size()),
          .p10 = at(0.1),
          .p50 = at(0.5),
          .p90 = at(0.9)};
}

int runs_for(double rounds) {
  return static_cast<int>(std::clamp<double>(most_rounds_together / rounds, least_runs, most_runs));
}

/// What a spare node must bring down.
double price(const RunForecast& one) {
  return (one.rules.nodes + one.rules.spare_nodes) * one.elapsed_s.mean;
}

void try_spares(FailureForecast& forecast, const RecoveryRules& rules) {
  /// Whether the run with so many is the best so far.
  const auto try_number = [&](int spares) {
    auto other = rules;
    other.spare_nodes = spares;
    forecast.spares.push_back(
        other == forecast.run.rules
            ? forecast.run
            : forecast_run(forecast.rates, other, forecast.costs, forecast.work_s));
    const auto& best = forecast.spares[static_cast<std::size_t>(forecast.best_spares)];
    const auto& last = forecast.spares.back();
    return last.finished > 0 && (best.finished <= 0 || price(last) < price(best));
  };
  constexpr int enough_worse = 2;  // in a row
  const int own = rules.spare_nodes;
  int worse = 0;
  for (int spares = 0; spares <= most_spares; ++spares) {
    const bool better = try_number(spares);
    if (better) forecast.best_spares = spares;
    worse = better ? 0 : spares - forecast.best_spares;
    if (worse >= enough_worse && (spares >= own || own > most_spares)) break;
  }
  const bool more = own > most_spares && try_number(own);
  forecast.more_spares_may_pay = more || worse < enough_worse;
}

}  // namespace

double daly_interval_s(double save_s, double mtbf_s) {
  constexpr double least_s = 1;  // where a checkpoint costs nothing
  if (save_s >= 2 * mtbf_s) return std::max({least_s, save_s, mtbf_s});
  const double part = save_s / (2 * mtbf_s);
  return std::max({least_s, save_s,
                   std::sqrt(2 * save_s * mtbf_s) * (1 + std::sqrt(part) / 3 + part / 9) - save_s});
}

double expected_rounds(const HitRates& hits, const RecoveryRules& rules, const FailureCosts& costs,
                       double work_s) {
  double rounds = 1 + hits.per_s * work_s + work_s / rate_period_s;
  const double training_s = training_before_limit_s(rules, costs);
  if (rules.requeue_timeout && training_s > 0) rounds += work_s / training_s;
  return rounds;
}

RunForecast forecast_run(const FailureRates& rates, const RecoveryRules& rules,
                         const FailureCosts& costs, double work_s, std::uint64_t seed) {
  const auto hits = hit_rates(rates, rules.nodes + rules.spare_nodes);
  RunForecast forecast{.rules = rules,
                       .runs = runs_for(expected_rounds(hits, rules, costs, work_s))};
  if (forecast.rules.interval_s <= 0)
    forecast.rules.interval_s =
        daly_interval_s(costs.save_s, 1 / hit_rates(rates, rules.nodes).per_s);
  std::vector<double> interruptions;
  std::vector<double> effective;
  std::vector<double> elapsed;
  const auto key = random_key(seed, "runs");
  for (int i = 0; i < forecast.runs; ++i) {
    const auto run = simulate_run(hits, forecast.rules, costs, work_s,
                                  random_bits(key, static_cast<std::uint64_t>(i)));
    interruptions.push_back(run.interruptions);
    effective.push_back(run.effective());
    if (run.finished) elapsed.push_back(run.elapsed_s);
    forecast.node_s += run.node_s / forecast.runs;
    forecast.rounds += run.rounds;
    forecast.requeues += static_cast<double>(run.requeues) / forecast.runs;
  }
  forecast.finished = static_cast<double>(elapsed.size()) / forecast.runs;
  forecast.interruptions = spread_of(std::move(interruptions));
  forecast.effective = spread_of(std::move(effective));
  forecast.elapsed_s = spread_of(std::move(elapsed));
  return forecast;
}

FailureForecast forecast_failures(const FailureRates& rates, RecoveryRules rules,
                                  const FailureCosts& costs, double work_s) {
  FailureForecast forecast{.rates = rates, .costs = costs, .work_s = work_s};
  forecast.mtbf_s = 1 / hit_rates(rates, rules.nodes).per_s;
  forecast.interval_known = rules.interval_s > 0;
  forecast.best_interval_s = daly_interval_s(costs.save_s, forecast.mtbf_s);
  auto best = rules;
  best.interval_s = forecast.best_interval_s;
  if (rules.interval_s <= 0) rules.interval_s = forecast.best_interval_s;
  forecast.run = forecast_run(rates, rules, costs, work_s);
  forecast.plain = forecast_run(rates, plain_requeueing(rules), costs, work_s);
  forecast.best = best == rules ? forecast.run : forecast_run(rates, best, costs, work_s);
  auto unlimited = rules;
  unlimited.max_restarts = std::numeric_limits<int>::max();
  forecast.unlimited = forecast_run(rates, unlimited, costs, work_s);
  try_spares(forecast, rules);
  return forecast;
}

}  // namespace dllaunch
