// What training makes small. One file a loss in trainer/losses/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "trainer/backends/backend.hpp"
#include "trainer/graph/graph.hpp"

namespace dllaunch {

/// What rows of outputs are compared with: one of the two is there.
struct Targets {
  std::span<const std::int32_t> labels = {};  // [rows], 0 .. outputs-1
  std::span<const float> values = {};         // [rows, outputs]
};

/// One loss; the table follows from table.hpp. Computed in double, rows summed in order.
struct LossEntry {
  std::string_view name;  // what the user types
  std::string_view summary;
  std::span<const TargetKind> targets;  // what it can be compared with
  bool smooths = false;                 // has label_smoothing
  /// outputs and gradient [rows, outputs]. Gives the sum over rows of each row's loss, which is a
  /// mean over outputs where several count; gradient = d(loss_sum)/d(outputs). NaN and infinity
  /// pass through.
  ForwardResult (*evaluate)(const LossChoice& choice, std::span<const double> outputs,
                            std::size_t rows, const Targets& targets, std::span<double> gradient);
};
std::span<const LossEntry> losses();

/// nullptr: no such loss.
const LossEntry* find_loss(std::string_view name);

/// The chosen loss of the first batch.count rows of a network's outputs.
ForwardResult evaluate_loss(const LossChoice& choice, const Batch& batch,
                            std::span<const double> outputs, std::span<double> gradient);

/// The first of equal largest outputs is the label's, and all are finite.
bool is_right(std::span<const double> row, std::int32_t label);

/// Of rows with labels: those that are right.
int count_right(std::span<const double> outputs, std::span<const std::int32_t> labels);

}  // namespace dllaunch
