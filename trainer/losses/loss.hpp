// Losses: the functions that training minimises, one file each in trainer/losses/.
// They know outputs and targets, not the network or the backend that computed them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "trainer/backends/backend.hpp"
#include "trainer/graph/graph.hpp"

namespace dllaunch {

/// Targets of the outputs; exactly one of the two is set.
struct Targets {
  std::span<const std::int32_t> labels = {};  // [rows], 0 .. outputs-1
  std::span<const float> values = {};         // [rows, outputs]
};

/// One loss; table.hpp lists them. Computed in double; rows are summed in order.
struct LossEntry {
  std::string_view name;  // name in the job file
  std::string_view summary;
  std::span<const TargetKind> targets;  // supported targets
  bool smooths = false;                 // supports label_smoothing
  /// Returns the sum of the rows' losses; a row's loss is the mean over its outputs if several
  /// count. outputs and gradient: [rows, outputs]; gradient = d(loss_sum)/d(outputs). NaN and
  /// infinity pass through.
  ForwardResult (*evaluate)(const LossChoice& choice, std::span<const double> outputs,
                            std::size_t rows, const Targets& targets, std::span<double> gradient);
};
std::span<const LossEntry> losses();

/// Returns nullptr if there is no such loss.
const LossEntry* find_loss(std::string_view name);

/// Evaluates the chosen loss on the outputs of the first batch.count images, which have `labels`
/// rows each: an image's loss is their mean.
ForwardResult evaluate_loss(const LossChoice& choice, const Batch& batch,
                            std::span<const double> outputs, std::span<double> gradient,
                            std::int64_t labels = 1);

/// Whether the first of the largest outputs is the label's and all are finite.
bool is_correct(std::span<const double> row, std::int32_t label);

/// Returns the number of correct rows. outputs: [rows, classes]; labels: [rows].
int count_correct(std::span<const double> outputs, std::span<const std::int32_t> labels);

}  // namespace dllaunch
