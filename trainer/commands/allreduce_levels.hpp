// What a bench's rows say of each level of the machine, and of more nodes than there were.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/allreduce/allreduce_bench.hpp"
#include "runtime/allreduce/allreduce_model.hpp"

namespace dllaunch {

/// Collective. Nothing where nodes hold different numbers of ranks.
std::optional<JobShape> shape_of(Communicator& communicator);

/// An all-reduce of several nodes is one within each node and one between them.
struct Levels {
  JobShape shape;
  std::vector<AllReduceRow> rows;         // of the whole job
  std::vector<AllReduceRow> within_node;  // of one node's ranks, the same sizes; empty: one each
};

/// Latency and bandwidth within a node, as if n bytes went over one link.
std::optional<LinkModel> model_within_node(const Levels& levels);
/// Of what the level within the nodes leaves. Nothing for one node or a communicator whose way
/// between nodes is not known.
std::optional<LinkModel> model_between_nodes(const Levels& levels);

/// One sentence a level, each a line.
std::string describe_levels(const Levels& levels);

/// The rows as they would be on `nodes` nodes: what was measured within a node, and the model
/// between them. Empty where there is no such model.
std::vector<AllReduceRow> project(const Levels& levels, int nodes);

}  // namespace dllaunch
