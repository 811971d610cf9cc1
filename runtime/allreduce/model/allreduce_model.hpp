// Models an all-reduce between nodes as messages and bytes: fitted to measurements, and used to
// predict more nodes. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace dllaunch {

/// `nodes` nodes of `ranks` ranks each.
struct JobShape {
  int nodes = 1;
  int ranks = 1;
};

/// What the busiest node sends in sequence: `messages` latencies, and `bytes` over the node's link.
/// docs/explanation/allreduce.md has the formulas.
struct MessageCost {
  double messages = 0;
  double bytes = 0;
};

/// Returns the cost of an all-reduce of `bytes` per rank. nullopt if the algorithm is unknown (mpi,
/// nccl), if `hierarchical` may choose either of two, or if it stays within one node.
std::optional<MessageCost> cost_between_nodes(std::string_view communicator, std::size_t bytes,
                                              JobShape shape);

/// The same among ranks that are alike: those of a node, or of a job whose communicator knows no
/// nodes. `hierarchical` in a node: a call, as it has the same steps for any number of ranks. mpi
/// and nccl choose for themselves and are counted as `ring`, which has the most steps.
MessageCost cost_among_ranks(std::string_view communicator, std::size_t bytes, int ranks);

/// Hockney's model: us = messages x latency_us + bytes / gbs / 1000.
struct LinkModel {
  double latency_us = 0;
  double gbs = 0;    // 1e9 bytes/s
  double error = 0;  // root mean square of the relative error of the fit
};

struct LinkSample {
  MessageCost cost;
  double us = 0;  // positive
};

/// Fits by least squares of relative errors, with both parameters non-negative. nullopt for fewer
/// than three samples, or if they cannot separate latency from bandwidth.
std::optional<LinkModel> fit_link(std::span<const LinkSample> samples);

double predict_us(const LinkModel& model, MessageCost cost);

/// What was measured of a communicator. Only `hierarchical` has both levels.
struct AllReduceModel {
  std::string communicator = {};
  int nodes = 1;                                // of the measurement
  std::optional<LinkModel> among_ranks = {};    // of a node, with `hierarchical`; else of the job
  std::optional<LinkModel> between_nodes = {};  // cost_between_nodes(): `hierarchical`
};

/// Returns how long an all-reduce of `bytes` per rank takes, at most where the algorithm depends on
/// the size. nullopt: a level that the shape has was not measured.
std::optional<double> predict_us(const AllReduceModel& model, std::size_t bytes, JobShape shape);

}  // namespace dllaunch
