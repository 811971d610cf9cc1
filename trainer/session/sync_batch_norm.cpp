#include "trainer/session/sync_batch_norm.hpp"

#include <algorithm>

#include <fmt/core.h>

namespace dllaunch {

Result<Ok> check_batch_norm(const Graph& graph) {
  const bool found = std::ranges::any_of(
      graph.nodes, [](const Node& node) { return std::holds_alternative<BatchNorm>(node.op); });
  if (found) return Ok{};
  return Error{ErrorKind::bad_request,
               fmt::format("sync_batch_norm: model {} has no batch normalisation", graph.model),
               "remove sync_batch_norm"};
}

SumOverRanks sum_over_ranks(Communicator& communicator, Activity* activity) {
  if (communicator.size() == 1) return {};
  return [&communicator, activity](std::span<double> values) {
    const RankPhase before = activity != nullptr ? activity->phase() : RankPhase::start;
    if (activity != nullptr) activity->enter(RankPhase::reduce);
    communicator.wait(
        communicator.all_reduce(values.data(), values.size(), DType::f64, ReduceOp::sum));
    if (activity != nullptr) activity->enter(before);
  };
}

}  // namespace dllaunch
