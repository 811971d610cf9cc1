// The loss of a regression: PyTorch's MSELoss. A label counts as 1 for its class, 0 for the others.
#include "trainer/losses/loss.hpp"

namespace dllaunch {
namespace {

constexpr TargetKind fitting[] = {TargetKind::class_index, TargetKind::class_set,
                                  TargetKind::values};

ForwardResult evaluate(const LossChoice&, std::span<const double> outputs, std::size_t rows,
                       const Targets& targets, std::span<double> gradient) {
  const std::size_t width = outputs.size() / rows;
  const auto count = static_cast<double>(width);
  ForwardResult result{.loss_sum = 0, .correct = count_right(outputs, targets.labels)};
  for (std::size_t n = 0; n < rows; ++n) {
    double squares = 0;
    for (std::size_t k = 0; k < width; ++k) {
      const double error = outputs[n * width + k] - targets.at(n, k, width);
      squares += error * error;
      gradient[n * width + k] = 2 * error / count;
    }
    result.loss_sum += squares / count;
  }
  return result;
}

}  // namespace

extern const LossEntry mean_squared_error_loss;
const LossEntry mean_squared_error_loss{
    .name = "mean_squared_error",
    .summary =
        "mean over images and outputs of (output - target)^2; of a class, its output "
        "should be 1 and the others 0",
    .targets = fitting,
    .evaluate = evaluate};

}  // namespace dllaunch
