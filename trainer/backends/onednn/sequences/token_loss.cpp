#include "trainer/backends/onednn/sequences/token_loss.hpp"

#include <algorithm>
#include <cmath>

#include "trainer/losses/softmax_cross_entropy.hpp"

namespace dllaunch::onednn {
namespace {

/// Whether the label's logit is the first of the largest.
bool is_predicted(const float* logits, std::int32_t label, const LogitSums& of) {
  if (!(logits[label] == of.largest) || !std::isfinite(of.exponentials)) return false;
  return std::none_of(logits, logits + label, [&](float logit) { return logit == of.largest; });
}

}  // namespace

bool is_token_loss(const Graph& graph) {
  return !graph.joints.output && graph.labels() > 1 && graph.loss.name == SoftmaxCrossEntropy::name;
}

ForwardResult TokenLoss::evaluate(const float* logits, const Batch& batch) {
  const std::int64_t rows = batch.count * labels_;
  of_rows_.assign(batch.labels.begin(), batch.labels.begin() + rows);
  sums_.resize(static_cast<std::size_t>(rows));
  std::vector<double> losses(sums_.size());
  int correct = 0;
#pragma omp parallel for schedule(static) reduction(+ : correct)
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto at = static_cast<std::size_t>(row);
    const float* const of_row = logits + row * classes_;
    const LogitSums of = sums_[at] =
        row_kernels().sum_logits(of_row, static_cast<std::size_t>(classes_));
    const double fit = (1 - smoothing_) * (of_row[of_rows_[at]] - of.largest) +
                       smoothing_ * of.distances / static_cast<double>(classes_);
    losses[at] = std::log(static_cast<double>(of.exponentials)) - fit;
    correct += is_predicted(of_row, of_rows_[at], of) ? 1 : 0;
  }
  ForwardResult result{.correct = correct};
  for (const double loss : losses) result.loss_sum += loss;
  result.loss_sum /= static_cast<double>(labels_);
  return result;
}

void TokenLoss::write_gradients(const float* logits, float* gradients, double scale) const {
  const double each = scale / static_cast<double>(labels_);
  const auto shift = static_cast<float>(each * smoothing_ / static_cast<double>(classes_));
#pragma omp parallel for schedule(static)
  for (std::int64_t row = 0; row < static_cast<std::int64_t>(sums_.size()); ++row) {
    const auto at = static_cast<std::size_t>(row);
    float* const to = gradients + row * classes_;
    const LogitSums& of = sums_[at];
    row_kernels().logit_gradients(logits + row * classes_, to, static_cast<std::size_t>(classes_),
                                  of.largest, static_cast<float>(each / of.exponentials), shift);
    to[of_rows_[at]] -= static_cast<float>(each * (1 - smoothing_));
  }
}

}  // namespace dllaunch::onednn
