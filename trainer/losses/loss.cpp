#include "trainer/losses/loss.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>

#include "trainer/losses/table.hpp"

namespace dllaunch {
namespace {

/// LossEntry::evaluate: sums the rows' losses in order.
template <typename Loss>
ForwardResult evaluate(const LossChoice& choice, std::span<const double> outputs, std::size_t rows,
                       const Targets& targets, std::span<double> gradient) {
  const auto width = static_cast<std::int64_t>(outputs.size() / rows);
  const RowTargets of{targets.labels.data(),
                      targets.values.empty() ? nullptr : targets.values.data()};
  ForwardResult result;
  for (std::size_t n = 0; n < rows; ++n) {
    const auto y =
        output_row(outputs.data(), width, of, static_cast<std::int64_t>(n), choice.label_smoothing);
    assert(y.label < width);
    const double largest = largest_of(y, {});
    const LossRow<double> row = Loss::row(y, largest, sums_of<Loss>(y, largest, {}));
    double* const grads = gradient.data() + static_cast<std::int64_t>(n) * width;
    for (std::int64_t k = 0; k < width; ++k) grads[k] = Loss::grad(y, row, k);
    result.loss_sum += row.loss;
    result.correct += row.correct;
  }
  return result;
}

template <typename... Listed>
constexpr std::array<LossEntry, sizeof...(Listed)> entries_of(TypeList<Listed...>) {
  return {LossEntry{.name = Listed::name,
                    .summary = Listed::summary,
                    .targets = Listed::targets,
                    .smooths = Listed::smooths,
                    .evaluate = evaluate<Listed>}...};
}

constexpr auto table = entries_of(Losses{});

}  // namespace

std::span<const LossEntry> losses() {
  return table;
}

const LossEntry* find_loss(std::string_view name) {
  for (const LossEntry& entry : losses()) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

ForwardResult evaluate_loss(const LossChoice& choice, const Batch& batch,
                            std::span<const double> outputs, std::span<double> gradient,
                            std::int64_t labels) {
  const auto rows = static_cast<std::size_t>(batch.count * labels);
  if (rows == 0) return {};
  const LossEntry* loss = find_loss(choice.name);
  assert(loss != nullptr && outputs.size() % rows == 0);
  Targets targets;
  if (batch.targets.empty()) {
    targets.labels = batch.labels.first(rows);
  } else {
    targets.values = batch.targets.first(outputs.size());
  }
  ForwardResult result = loss->evaluate(choice, outputs, rows, targets, gradient);
  if (labels == 1) return result;
  result.loss_sum /= static_cast<double>(labels);
  for (double& each : gradient) each /= static_cast<double>(labels);
  return result;
}

bool is_correct(std::span<const double> row, std::int32_t label) {
  if (!std::ranges::all_of(row, [](double output) { return std::isfinite(output); })) return false;
  return std::ranges::max_element(row) - row.begin() == label;
}

int count_correct(std::span<const double> outputs, std::span<const std::int32_t> labels) {
  int correct = 0;
  const std::size_t width = labels.empty() ? 0 : outputs.size() / labels.size();
  for (std::size_t row = 0; row < labels.size(); ++row) {
    correct += is_correct(outputs.subspan(row * width, width), labels[row]) ? 1 : 0;
  }
  return correct;
}

}  // namespace dllaunch
