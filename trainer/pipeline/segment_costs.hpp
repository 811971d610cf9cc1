// What the segments of a network cost, estimated from their operations: no machine is needed. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "trainer/backends/backend.hpp"
#include "trainer/graph/graph.hpp"
#include "trainer/pipeline/partition.hpp"

namespace dllaunch {

struct TrainingSizes {
  int batch = 1;  // samples of a micro-batch
  Precision precision = Precision::fp32;
  bool accumulates = false;  // several micro-batches a step: each in flight has gradients to add
  double states = 0;  // numbers per weight besides its gradient that a rank keeps: the optimiser's
                      // and the average's; less than one each if ranks share them
};

/// Returns the costs of a segment, a graph of cut_graph().
/// Seconds: of a device with 1e11 floating-point operations and 1e10 bytes of memory traffic per
/// second, the larger of both per node; so they compare segments and foretell no time. A product
/// takes 2 operations per weight and output position forward, and as many for each of the gradients
/// of its input and its weights.
/// Activations: each node's output that the backward pass reads or a fused node does not replace,
/// and twice the largest, for gradients on the way.
SegmentCost estimate_segment(const Graph& segment, const TrainingSizes& sizes);

/// Returns the parameters that several of the segments have.
std::vector<SharedBytes> shared_bytes(std::span<const Graph> segments, const TrainingSizes& sizes);

/// Returns what the segment's time depends on: equal for segments that differ only in names.
std::string shape_of(const Graph& segment);

}  // namespace dllaunch
