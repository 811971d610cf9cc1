// What failures will cost a run: many simulated runs, and what would change them. Pure.
#pragma once

#include <string>
#include <vector>

#include "launcher/failures/failure_rates.hpp"
#include "launcher/failures/simulated_run.hpp"

namespace dllaunch {

struct Spread {
  double mean = 0;
  double p10 = 0;
  double p50 = 0;
  double p90 = 0;
};

struct RunForecast {
  RecoveryRules rules = {};
  Spread interruptions = {};
  Spread effective = {};  // training time, 0 .. 1
  Spread elapsed_s = {};  // of runs that finish
  double node_s = 0;      // mean
  double requeues = 0;    // mean
  double finished = 1;    // share of the runs, 0 .. 1
  int runs = 0;           // simulated
  double rounds = 0;      // of all of them
};

struct FailureForecast {
  FailureRates rates = {};
  FailureCosts costs = {};
  double work_s = 0;
  double mtbf_s = 0;            // between failures that hit one of the job's nodes
  double best_interval_s = 0;   // daly_interval_s()
  bool interval_known = false;  // else the job is taken to save at the best one
  RunForecast run = {};         // as the job is
  RunForecast plain = {};       // requeued as a whole, with the same checkpoints
  RunForecast best = {};        // as the job is, with the best interval; equal to `run` if it is
  RunForecast unlimited = {};   // as the job is, with any number of restarts
  std::vector<RunForecast> spares =
      {};                            // with 0, 1, 2, ... spare nodes; at last the job's own number
  int best_spares = 0;               // index of `spares`
  bool more_spares_may_pay = false;  // the search ended there
};

/// The interval between checkpoints that costs least, of saving and of lost work: Daly 2006,
/// equation 37, for save_s < 2 mtbf_s: sqrt(2 C M) (1 + sqrt(C / 2M) / 3 + C / 18M) - C; else M. At
/// least save_s and a second.
double daly_interval_s(double save_s, double mtbf_s);

/// What a simulated run has to be gone through for: its failures, time limits and fortnights, as
/// far as they are to be expected.
double expected_rounds(const HitRates& hits, const RecoveryRules& rules, const FailureCosts& costs,
                       double work_s);
/// Of a run: with more, a forecast takes longer than 0.2 s.
constexpr double most_rounds_of_run = 10'000;

/// `rules.interval_s` 0: the best one. `seed`: the same for each alternative, so that they differ
/// by what they are alone.
RunForecast forecast_run(const FailureRates& rates, const RecoveryRules& rules,
                         const FailureCosts& costs, double work_s, std::uint64_t seed = 1);

/// A spare node pays if it shortens the run, with the queue, by a larger share than it adds to the
/// nodes.
FailureForecast forecast_failures(const FailureRates& rates, RecoveryRules rules,
                                  const FailureCosts& costs, double work_s);

}  // namespace dllaunch
