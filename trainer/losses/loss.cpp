#include "trainer/losses/loss.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace dllaunch {

const LossEntry* find_loss(std::string_view name) {
  for (const LossEntry& entry : losses()) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

ForwardResult evaluate_loss(const LossChoice& choice, const Batch& batch,
                            std::span<const double> outputs, std::span<double> gradient) {
  const auto rows = static_cast<std::size_t>(batch.count);
  if (rows == 0) return {};
  const LossEntry* loss = find_loss(choice.name);
  assert(loss != nullptr && outputs.size() % rows == 0);
  Targets targets;
  if (batch.targets.empty()) {
    targets.labels = batch.labels.first(rows);
  } else {
    targets.values = batch.targets.first(outputs.size());
  }
  return loss->evaluate(choice, outputs, rows, targets, gradient);
}

bool is_right(std::span<const double> row, std::int32_t label) {
  if (!std::ranges::all_of(row, [](double output) { return std::isfinite(output); })) return false;
  return std::ranges::max_element(row) - row.begin() == label;
}

int count_right(std::span<const double> outputs, std::span<const std::int32_t> labels) {
  int right = 0;
  const std::size_t width = labels.empty() ? 0 : outputs.size() / labels.size();
  for (std::size_t row = 0; row < labels.size(); ++row) {
    right += is_right(outputs.subspan(row * width, width), labels[row]) ? 1 : 0;
  }
  return right;
}

}  // namespace dllaunch
