// Compares the loss over tokens with the loss in double.
#include "trainer/backends/onednn/sequences/token_loss.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "trainer/losses/loss.hpp"

namespace dllaunch::onednn {
namespace {

constexpr int batch = 3;
constexpr std::int64_t labels = 5;
constexpr std::int64_t classes = 37;

struct Tokens {
  std::vector<float> logits;
  std::vector<std::int32_t> of_rows;

  Tokens() : logits(batch * labels * classes) {
    std::mt19937 random(1);
    std::normal_distribution<float> normal(0, 4);
    for (float& logit : logits) logit = normal(random);
    for (std::int64_t row = 0; row < batch * labels; ++row) {
      of_rows.push_back(static_cast<std::int32_t>(random() % classes));
      // Every third token is predicted.
      if (row % 3 == 0) logits[static_cast<std::size_t>(row * classes + of_rows.back())] = 30;
    }
  }
  Batch some(int count) const { return {.images = {}, .labels = of_rows, .count = count}; }
};

TEST(TokenLoss, IsTheLossInDouble) {
  const Tokens tokens;
  for (const double smoothing : {0.0, 0.1}) {
    for (const int count : {0, 2, batch}) {
      const LossChoice choice{.label_smoothing = smoothing};
      const std::vector<double> exact(tokens.logits.begin(), tokens.logits.end());
      std::vector<double> gradient(exact.size());
      const auto used = static_cast<std::size_t>(count * labels * classes);
      const ForwardResult wanted =
          evaluate_loss(choice, tokens.some(count), std::span(exact).first(used),
                        std::span(gradient).first(used), labels);
      TokenLoss loss(smoothing, labels, classes);
      const ForwardResult result = loss.evaluate(tokens.logits.data(), tokens.some(count));
      EXPECT_NEAR(result.loss_sum, wanted.loss_sum, 1e-5 * wanted.loss_sum);
      EXPECT_EQ(result.correct, wanted.correct);
      std::vector<float> in_place = tokens.logits;
      loss.write_gradients(in_place.data(), in_place.data(), 0.5);
      for (std::size_t i = 0; i < used; ++i) EXPECT_NEAR(in_place[i], 0.5 * gradient[i], 1e-7) << i;
      for (std::size_t i = used; i < in_place.size(); ++i) {
        EXPECT_EQ(in_place[i], tokens.logits[i]) << "absent";
      }
    }
  }
}

TEST(TokenLoss, TheFirstOfEqualLogitsIsPredicted) {
  const std::vector<float> logits = {1, 7, 7, 7, 1, 7};
  for (const int label : {0, 1}) {
    const std::vector<std::int32_t> of_rows = {1, label};
    TokenLoss loss(0, 2, 3);
    const Batch one{.images = {}, .labels = of_rows, .count = 1};
    EXPECT_EQ(loss.evaluate(logits.data(), one).correct, label == 0 ? 2 : 1);
  }
}

TEST(TokenLoss, ANaNReachesTheLossAndPredictsNothing) {
  Tokens tokens;
  tokens.logits[0] = std::numeric_limits<float>::quiet_NaN();
  TokenLoss loss(0, labels, classes);
  const ForwardResult result = loss.evaluate(tokens.logits.data(), tokens.some(batch));
  EXPECT_TRUE(std::isnan(result.loss_sum));
  EXPECT_EQ(result.correct, 4) << "of five that are the largest";
}

}  // namespace
}  // namespace dllaunch::onednn
