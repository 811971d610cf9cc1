// Splits dense layers of a network among ranks by columns of their output, the classic of AlexNet
// (Krizhevsky et al. 2012; Krizhevsky 2014). Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "support/result.hpp"
#include "trainer/backends/backend.hpp"
#include "trainer/graph/graph.hpp"

namespace dllaunch {

/// A part of the network between two exchanges.
struct SplitPart {
  /// With joints, as a stage of a pipeline. Of a split layer: the layer and its activation, with as
  /// many units as the rank with the most has.
  Graph graph;
  std::optional<SlotRows> rows = {};  // the units of a split layer that this rank has

  bool is_split() const { return rows.has_value(); }
};

/// Returns a rank's parts of the network, which split these dense layers; the last part has the
/// loss and is not split. The rank computes a split part on the samples of all ranks, the others
/// on its own. Nodes, parameters and buffers keep their names. No part needs the gradient of its
/// input if nothing before it is trained.
/// bad_request: a name is of no dense layer, or the layer cannot be split.
Result<std::vector<SplitPart>> split_network(const Graph& graph,
                                             std::span<const std::string> layers, int rank,
                                             int ranks);

/// Returns the bytes in which a rank's values wait between the parts, on the way to other ranks or
/// from them, with batches of this many samples. `type`: of a value, f64 with Precision::fp64.
std::int64_t exchange_bytes(std::span<const SplitPart> parts, int batch, int ranks,
                            DType type = DType::f32);

/// Returns the first part with a parameter that is trained.
int first_trained(std::span<const SplitPart> parts);

}  // namespace dllaunch
