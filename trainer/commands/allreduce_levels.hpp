// Splits a benchmark's results by level (within a node, between nodes) and extrapolates to more
// nodes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/allreduce/allreduce_bench.hpp"
#include "runtime/allreduce/model/allreduce_model.hpp"

namespace dllaunch {

/// Collective. Returns nullopt if nodes have different numbers of ranks.
std::optional<JobShape> shape_of(Communicator& communicator);

/// An all-reduce over several nodes combines one within each node and one between nodes.
struct Levels {
  JobShape shape;
  std::vector<AllReduceRow> rows;         // whole job
  std::vector<AllReduceRow> within_node;  // ranks of one node, same sizes; empty with one rank per
                                          // node
};

/// Returns latency and bandwidth within a node, modelled as one link.
std::optional<LinkModel> model_within_node(const Levels& levels);
/// Fits what remains after the level within nodes. nullopt for one node, or a communicator whose
/// inter-node algorithm is unknown.
std::optional<LinkModel> model_between_nodes(const Levels& levels);

/// Both levels of `hierarchical`; of another communicator, its ranks without levels.
AllReduceModel model_of(const Levels& levels);

/// Returns one line per level of model_of(), and the same as a JSON array of {"level", "alpha_us",
/// "per", "beta_gbs", "error"}.
std::string describe_levels(const Levels& levels);
std::string links_json(const Levels& levels);

/// Predicts the rows on `nodes` nodes, from the measurements within a node and the model between
/// nodes. Empty without such a model.
std::vector<AllReduceRow> project(const Levels& levels, int nodes);

}  // namespace dllaunch
