// Each output is asked by itself whether its class is there: PyTorch's BCEWithLogitsLoss.
#include <algorithm>
#include <cmath>

#include "trainer/losses/loss.hpp"

namespace dllaunch {
namespace {

constexpr TargetKind fitting[] = {TargetKind::class_index, TargetKind::class_set};

/// Rows whose outputs are above 0, a probability above one half, exactly where the target is 1.
int count_whole_sets(std::span<const double> outputs, std::size_t rows, const Targets& targets) {
  const std::size_t classes = outputs.size() / rows;
  int right = 0;
  for (std::size_t n = 0; n < rows; ++n) {
    bool same = true;
    for (std::size_t k = 0; k < classes; ++k) {
      const double x = outputs[n * classes + k];
      same = same && !std::isnan(x) && (x > 0) == (targets.at(n, k, classes) > 0.5);
    }
    right += same ? 1 : 0;
  }
  return right;
}

/// Of an output x and its target t: -t log s(x) - (1 - t) log(1 - s(x)) with s the logistic
/// function, written so that exp() cannot overflow; its slope is s(x) - t.
/// label_smoothing e moves t towards one half: (1 - e) t + e / 2, as Keras does.
ForwardResult evaluate(const LossChoice& choice, std::span<const double> outputs, std::size_t rows,
                       const Targets& targets, std::span<double> gradient) {
  const std::size_t classes = outputs.size() / rows;
  const double smoothing = choice.label_smoothing;
  const auto count = static_cast<double>(classes);
  ForwardResult result;
  for (std::size_t n = 0; n < rows; ++n) {
    double sum = 0;
    for (std::size_t k = 0; k < classes; ++k) {
      const double x = outputs[n * classes + k];
      const double t = (1 - smoothing) * targets.at(n, k, classes) + smoothing / 2;
      const double e = std::exp(-std::abs(x));
      sum += std::max(x, 0.0) - x * t + std::log1p(e);
      const double s = (x < 0 ? e : 1) / (1 + e);
      gradient[n * classes + k] = (s - t) / count;
    }
    result.loss_sum += sum / count;
  }
  result.correct = targets.values.empty() ? count_right(outputs, targets.labels)
                                          : count_whole_sets(outputs, rows, targets);
  return result;
}

}  // namespace

extern const LossEntry sigmoid_cross_entropy_loss;
const LossEntry sigmoid_cross_entropy_loss{
    .name = "sigmoid_cross_entropy",
    .summary =
        "any number of classes an image: mean over images and classes of the cross-entropy "
        "of each class with sigmoid(output)",
    .targets = fitting,
    .smooths = true,
    .evaluate = evaluate};

}  // namespace dllaunch
