// When a stage of a pipeline runs which micro-batch, and which rank is which stage. Pure.
#pragma once

#include <algorithm>
#include <vector>

namespace dllaunch {

/// A rank's place in a pipeline. Consecutive ranks are replicas of one stage, which sum gradients;
/// the ranks of equal `replica` are a pipeline of their own.
struct StagePlace {
  int stages = 1;
  int stage = 0;
  int replicas = 1;  // of each stage
  int replica = 0;

  bool is_first() const { return stage == 0; }
  bool is_last() const { return stage + 1 == stages; }
  int rank_of(int of_stage) const { return of_stage * replicas + replica; }
};

/// `ranks` is a multiple of `stages`.
constexpr StagePlace place_in_pipeline(int rank, int ranks, int stages) {
  const int replicas = ranks / stages;
  return {
      .stages = stages, .stage = rank / replicas, .replicas = replicas, .replica = rank % replicas};
}

/// One pass of one micro-batch through a stage.
struct Pass {
  bool forward = true;
  int micro_batch = 0;
  bool operator==(const Pass&) const = default;
};

/// Returns a stage's passes of a step: 1F1B (Narayanan et al. 2019, PipeDream; flushed after each
/// step as in Narayanan et al. 2021). The last stage, and a network in one stage, runs each
/// micro-batch forward, then backward.
std::vector<Pass> one_forward_one_backward(const StagePlace& place, int micro_batches);

/// Returns the most micro-batches that the stage has run forward and not yet backward.
constexpr int most_in_flight(const StagePlace& place, int micro_batches) {
  return std::min(place.stages - place.stage, micro_batches);
}

}  // namespace dllaunch
