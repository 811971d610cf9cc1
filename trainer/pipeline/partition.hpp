// Where to cut a network into the stages of a pipeline, given what its segments cost. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "support/result.hpp"

namespace dllaunch {

/// What a segment costs its rank: a part of a network between two neighbouring places where it can
/// be cut.
struct SegmentCost {
  double seconds = 0;                 // of a micro-batch, forward and backward
  std::int64_t held_bytes = 0;        // parameters, gradients, optimiser state
  std::int64_t activation_bytes = 0;  // of each micro-batch in flight
  std::int64_t crossing_bytes = 0;    // of the micro-batch's value that leaves it
};

/// Parameters that several segments read. A stage with several of these segments holds them once;
/// `held_bytes` of each has them.
struct SharedBytes {
  std::vector<int> segments;  // ascending
  std::int64_t bytes = 0;
};

struct PartitionTask {
  std::span<const SegmentCost> segments;
  std::span<const SharedBytes> shared = {};
  int stages = 1;
  int micro_batches = 1;                          // per step
  double seconds_per_byte = 0;                    // to the next stage's rank
  std::optional<std::int64_t> memory_bytes = {};  // that a rank has; absent: enough
};

struct StageCost {
  double seconds = 0;  // of a micro-batch: its segments, its output sent, its input's gradient sent
  std::int64_t held_bytes = 0;
  std::int64_t activation_bytes = 0;  // of one micro-batch
  int in_flight = 1;                  // micro-batches that it keeps activations of

  std::int64_t bytes() const { return held_bytes + in_flight * activation_bytes; }
};

struct Partition {
  std::vector<int> ends;  // per stage, the segment after its last
  std::vector<StageCost> stages;
  double step_seconds = 0;
  double idle = 0;  // part of a step that the stages wait, on average
};

/// Returns the cost of given stages. `ends` ascends and ends with the number of segments. 1F1B
/// keeps min(stages - stage, micro_batches) micro-batches in flight. A step takes
///   sum of the stages' seconds + (micro_batches - 1) * the slowest stage's:
/// one micro-batch passes all stages, the others follow at the pace of the slowest. With equal
/// stages these are (micro_batches + stages - 1) stage times, and idle is (stages - 1) /
/// (micro_batches + stages - 1) (Huang et al. 2019, GPipe).
Partition cost_of(const PartitionTask& task, std::vector<int> ends);

/// Returns the partition with the shortest step, of several the one whose stages differ least.
/// unsatisfiable: fewer segments than stages, or no
/// partition fits the memory: says what the smallest needs.
Result<Partition> choose_partition(const PartitionTask& task);

}  // namespace dllaunch
