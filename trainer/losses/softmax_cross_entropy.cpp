// The loss of a classifier: -log softmax(outputs)[label], PyTorch's CrossEntropyLoss.
#include <algorithm>
#include <cassert>
#include <cmath>

#include "trainer/losses/loss.hpp"

namespace dllaunch {
namespace {

constexpr TargetKind fitting[] = {TargetKind::class_index};

/// label_smoothing e: the label's share of the target is 1 - e, and every class has e / outputs
/// more (Szegedy et al. 2016). gradient = softmax(outputs) - target.
ForwardResult evaluate(const LossChoice& choice, std::span<const double> outputs, std::size_t rows,
                       const Targets& targets, std::span<double> gradient) {
  ForwardResult result{.loss_sum = 0, .correct = count_right(outputs, targets.labels)};
  const std::size_t classes = outputs.size() / rows;
  const double smoothing = choice.label_smoothing;
  const double share = smoothing / static_cast<double>(classes);
  for (std::size_t n = 0; n < rows; ++n) {
    const auto row = outputs.subspan(n * classes, classes);
    const auto slope = gradient.subspan(n * classes, classes);
    const auto label = static_cast<std::size_t>(targets.labels[n]);
    assert(label < classes);

    // Shifted by the largest logit, so that exp() cannot overflow; its own term is exp(0) = 1.
    const double largest = *std::max_element(row.begin(), row.end());
    double sum = 0;
    for (std::size_t k = 0; k < classes; ++k) {
      slope[k] = std::exp(row[k] - largest);
      sum += slope[k];
    }
    for (double& value : slope) value = value / sum - share;
    slope[label] -= 1 - smoothing;

    double fit = (1 - smoothing) * (row[label] - largest);
    for (std::size_t k = 0; k < classes && smoothing > 0; ++k) fit += share * (row[k] - largest);
    result.loss_sum += std::log(sum) - fit;
  }
  return result;
}

}  // namespace

extern const LossEntry softmax_cross_entropy_loss;
const LossEntry softmax_cross_entropy_loss{
    .name = "softmax_cross_entropy",
    .summary = "one class an image: mean of -log softmax(outputs)[label]",
    .targets = fitting,
    .smooths = true,
    .evaluate = evaluate};

}  // namespace dllaunch
