// Softmax cross-entropy over the tokens of a sequence: one pass over the logits for the loss, one
// for the gradients, in float, without a copy of the logits.
#pragma once

#include <cstdint>
#include <vector>

#include "trainer/backends/backend.hpp"
#include "trainer/backends/onednn/sequences/row_kernels.hpp"

namespace dllaunch::onednn {

/// Whether TokenLoss computes the graph's loss; else losses/loss.hpp does, in double.
bool is_token_loss(const Graph& graph);

class TokenLoss {
 public:
  TokenLoss(double smoothing, std::int64_t labels, std::int64_t classes)
      : smoothing_(smoothing), labels_(labels), classes_(classes) {}

  /// logits: [batch, labels, classes]. As evaluate_loss().
  ForwardResult evaluate(const float* logits, const Batch& batch);

  /// Writes d(scale * loss_sum)/d(logits) of the batch just evaluated; may overwrite `logits`.
  void write_gradients(const float* logits, float* gradients, double scale) const;

 private:
  double smoothing_;
  std::int64_t labels_;  // of an image
  std::int64_t classes_;
  std::vector<std::int32_t> of_rows_;  // label of each row
  std::vector<LogitSums> sums_;        // of each row
};

}  // namespace dllaunch::onednn
