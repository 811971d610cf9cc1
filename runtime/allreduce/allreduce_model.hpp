// What an all-reduce costs between nodes, as messages and bytes: fitted to measurements, and used
// to say what more nodes would take. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace dllaunch {

/// `nodes` nodes of `ranks` ranks each.
struct JobShape {
  int nodes = 1;
  int ranks = 1;
};

/// What the busiest node sends, one after another: `messages` times a latency, `bytes` over the
/// node's link. docs/allreduce.md has the formulas.
struct MessageCost {
  double messages = 0;
  double bytes = 0;
};

/// Of an all-reduce of `bytes` on each rank. Nothing where it is a library's secret (mpi, nccl),
/// where `hierarchical` may take one of two ways, or where it does not leave the node.
std::optional<MessageCost> cost_between_nodes(std::string_view communicator, std::size_t bytes,
                                              JobShape shape);

/// Hockney's model: us = messages x latency_us + bytes / gbs / 1000.
struct LinkModel {
  double latency_us = 0;
  double gbs = 0;    // 1e9 bytes a second
  double error = 0;  // root of the mean squared relative error of what it was fitted to
};

struct LinkSample {
  MessageCost cost;
  double us = 0;  // above 0
};

/// Least squares of relative errors, neither number negative. Nothing for fewer than three samples,
/// or where they do not tell latency from bandwidth.
std::optional<LinkModel> fit_link(std::span<const LinkSample> samples);

double predict_us(const LinkModel& model, MessageCost cost);

}  // namespace dllaunch
