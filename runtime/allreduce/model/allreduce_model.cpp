#include "runtime/allreduce/model/allreduce_model.hpp"

#include <algorithm>
#include <cmath>

#include "runtime/allreduce/model/inter_node_limits.hpp"

namespace dllaunch {
namespace {

/// Minimizes the sum of ((x0 latency + x1 inverse) / us - 1)^2 over both, or over one of them.
struct NormalEquations {
  double a00 = 0;
  double a01 = 0;
  double a11 = 0;
  double b0 = 0;
  double b1 = 0;

  void add(const LinkSample& sample) {
    const double x0 = sample.cost.messages / sample.us;
    const double x1 = sample.cost.bytes / sample.us;
    a00 += x0 * x0;
    a01 += x0 * x1;
    a11 += x1 * x1;
    b0 += x0;
    b1 += x1;
  }
};

struct Solution {
  double latency_us = 0;
  double us_per_byte = 0;
};

/// nullopt if the equations are nearly dependent.
std::optional<Solution> solve(const NormalEquations& e) {
  constexpr double nearly_singular = 1e-12;
  const double determinant = e.a00 * e.a11 - e.a01 * e.a01;
  if (determinant <= nearly_singular * e.a00 * e.a11) return std::nullopt;
  Solution solution{(e.b0 * e.a11 - e.b1 * e.a01) / determinant,
                    (e.b1 * e.a00 - e.b0 * e.a01) / determinant};
  // A convex function of two non-negative numbers has its minimum inside, or where one of them is
  // 0.
  if (solution.latency_us < 0) solution = {0, e.b1 / e.a11};
  if (solution.us_per_byte < 0) solution = {e.b0 / e.a00, 0};
  return solution;
}

}  // namespace

std::optional<MessageCost> cost_between_nodes(std::string_view communicator, std::size_t bytes,
                                              JobShape shape) {
  const double nodes = shape.nodes;
  const double ranks = nodes * shape.ranks;
  const auto n = static_cast<double>(bytes);
  if (shape.nodes < 2) return std::nullopt;
  if (communicator == "hierarchical") {
    // Below this size the algorithm depends on a measurement.
    if (n / shape.ranks <= static_cast<double>(InterNodeLimits::most_whole_bytes))
      return std::nullopt;
    // For very many nodes MPI's own algorithm is assumed to be Rabenseifner's.
    const bool few = shape.nodes <= InterNodeLimits{}.most_nodes;
    const double messages = few ? 2 * (nodes - 1) : 2 * std::ceil(std::log2(nodes));
    return MessageCost{messages, 2 * (nodes - 1) / nodes * n};
  }
  if (communicator == "ring") {
    return MessageCost{2 * (ranks - 1), 2 * (ranks - 1) / ranks * n};
  }
  if (communicator == "parameter-server") {
    const double remote = ranks - shape.ranks;
    return MessageCost{2 * remote, 2 * remote * n};
  }
  return std::nullopt;
}

MessageCost cost_among_ranks(std::string_view communicator, std::size_t bytes, int ranks) {
  const double others = ranks - 1;
  const auto n = static_cast<double>(bytes);
  if (ranks < 2) return {};
  if (communicator == "hierarchical") return {1, n};
  if (communicator == "parameter-server") return {2 * others, 2 * others * n};
  return {2 * others, 2 * others / ranks * n};
}

std::optional<LinkModel> fit_link(std::span<const LinkSample> samples) {
  if (samples.size() < 3) return std::nullopt;
  NormalEquations equations;
  for (const LinkSample& sample : samples) equations.add(sample);
  const auto solution = solve(equations);
  if (!solution || solution->us_per_byte <= 0) return std::nullopt;
  LinkModel model{
      .latency_us = solution->latency_us, .gbs = 1e-3 / solution->us_per_byte, .error = 0};
  double squares = 0;
  for (const LinkSample& sample : samples) {
    const double relative = predict_us(model, sample.cost) / sample.us - 1;
    squares += relative * relative;
  }
  model.error = std::sqrt(squares / static_cast<double>(samples.size()));
  return model;
}

double predict_us(const LinkModel& model, MessageCost cost) {
  return cost.messages * model.latency_us + cost.bytes / model.gbs * 1e-3;
}

std::optional<double> predict_us(const AllReduceModel& model, std::size_t bytes, JobShape shape) {
  const bool levels = model.communicator == "hierarchical";
  const int alike = levels ? shape.ranks : shape.nodes * shape.ranks;
  double us = 0;
  if (shape.nodes > 1 && model.nodes == 1) return std::nullopt;
  if (alike > 1) {
    if (!model.among_ranks) return std::nullopt;
    us += predict_us(*model.among_ranks, cost_among_ranks(model.communicator, bytes, alike));
  }
  if (levels && shape.nodes > 1) {
    if (!model.between_nodes) return std::nullopt;
    // Smaller slices travel whole only where that was measured to be faster.
    const std::size_t in_parts =
        static_cast<std::size_t>(shape.ranks) * (InterNodeLimits::most_whole_bytes + 1);
    const auto cost = cost_between_nodes(model.communicator, std::max(bytes, in_parts), shape);
    us += predict_us(*model.between_nodes, *cost);
  }
  return us;
}

}  // namespace dllaunch
