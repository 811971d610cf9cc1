#include "trainer/softmax_cross_entropy.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace dllaunch {

ForwardResult softmax_cross_entropy(std::span<const double> logits,
                                    std::span<const std::int32_t> labels,
                                    std::span<double> gradient) {
  assert(logits.size() == gradient.size());
  ForwardResult result;
  if (labels.empty()) return result;
  const std::size_t classes = logits.size() / labels.size();
  for (std::size_t n = 0; n < labels.size(); ++n) {
    const auto row = logits.subspan(n * classes, classes);
    const auto slope = gradient.subspan(n * classes, classes);
    const auto label = static_cast<std::size_t>(labels[n]);
    assert(label < classes);

    // Shifted by the largest logit, so that exp() cannot overflow; its own term is exp(0) = 1.
    const auto largest = std::max_element(row.begin(), row.end());
    double sum = 0;
    for (std::size_t k = 0; k < classes; ++k) {
      slope[k] = std::exp(row[k] - *largest);
      sum += slope[k];
    }
    for (double& value : slope) value /= sum;
    slope[label] -= 1;

    result.loss_sum += std::log(sum) - (row[label] - *largest);
    const bool has_nan = std::isnan(sum);
    result.correct += !has_nan && largest - row.begin() == labels[n] ? 1 : 0;
  }
  return result;
}

}  // namespace dllaunch
