// What the gradients' exchange takes at any number of ranks, by a measured all-reduce.
#pragma once

#include <cstdint>
#include <string>

#include "launcher/study/scaling_fit.hpp"
#include "launcher/study/study.hpp"
#include "support/json.hpp"
#include "support/result.hpp"

namespace dllaunch {

/// Reads what `dllaunch bench allreduce --json` printed. bad_request: it is something else, or its
/// sizes were too few for a model.
Result<MeasuredAllReduce> read_allreduce(const Json& document);

struct MeasuredExchange {
  ExchangeTime time = {};  // m(p), in the unit of the study's times
  std::int64_t bytes = 0;  // of gradients on each rank
  int ranks = 1;           // the largest size that was measured, and what a step's exchange takes
  double us = 0;
};

/// All gradients in one call that nothing hides: overlap only differs in what it hides. The
/// measured size nearest to them says how much longer they take than by the model, which large
/// arrays that leave the caches do. Predictions for more ranks go on as the largest size: within
/// its node, or by nodes that are as full. bad_request: no all-reduce was measured; no run says
/// what it exchanges; a run has another communicator, or nodes or ranks in a node which the
/// measurement had not.
Result<MeasuredExchange> measured_exchange(const Study& study);

/// bad_request: the all-reduce was measured on less than these ranks on these nodes have.
Result<Ok> check_measured(const AllReduceModel& model, int ranks, int nodes);

/// bad_request: the all-reduce of another communicator was measured. `of_runs`: the runs' own.
Result<Ok> check_same_communicator(const AllReduceModel& model, const std::string& of_runs);

}  // namespace dllaunch
