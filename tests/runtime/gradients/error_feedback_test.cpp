#include "runtime/gradients/error_feedback.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "runtime/numerics/float16.hpp"

namespace dllaunch {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr DType both[] = {DType::f16, DType::bf16};

float round_trip(DType type, float x) {
  return type == DType::f16 ? to_float(to_float16(x)) : to_float(to_bfloat16(x));
}

/// Runs one step of `variant` over `gradients`; returns what the other ranks would read.
std::vector<float> send(const FeedbackVariant& variant, DType type, float limit,
                        const std::vector<float>& gradients, std::vector<float>& residuals) {
  std::vector<std::byte> wire(gradients.size() * 2 + 1);
  // An odd address: alignment is not required.
  variant.compress(type, limit, gradients, residuals.data(), wire.data() + 1);
  std::vector<float> received(gradients.size());
  variant.expand(type, wire.data() + 1, received);
  return received;
}

/// Random bits that are a finite number.
float any_finite(std::mt19937& random) {
  for (;;) {
    const auto x = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    if (std::isfinite(x)) return x;
  }
}

TEST(ErrorFeedback, IsTheDefinitionElementByElementInEveryVariant) {
  std::mt19937 random(1);
  for (const FeedbackVariant& variant : feedback_variants()) {
    for (const DType type : both) {
      for (int round = 0; round < 300; ++round) {
        const float limit = largest_summand(type, 1 + static_cast<int>(random() % 100));
        std::vector<float> gradients(random() % 70);
        for (float& g : gradients)
          g = round % 2 == 0 ? any_finite(random)
                             : std::ldexp(any_finite(random) > 0 ? 1.1F : -1.3F,
                                          static_cast<int>(random() % 40) - 30);
        std::vector<float> residuals(gradients.size());
        for (float& r : residuals) r = static_cast<float>(random() % 1000) * 1e-7F;
        const auto before = residuals;
        const auto received = send(variant, type, limit, gradients, residuals);
        for (std::size_t i = 0; i < gradients.size(); ++i) {
          const float wanted = before[i] + gradients[i];
          const float sent = round_trip(type, std::fmin(std::fmax(wanted, -limit), limit));
          const bool finite = std::isfinite(wanted);
          ASSERT_EQ(received[i], finite ? sent : wanted) << variant.name;
          ASSERT_EQ(residuals[i], finite ? wanted - sent : 0)
              << variant.name << " " << gradients[i];
        }
      }
    }
  }
}

TEST(ErrorFeedback, LosesNothingOverManySteps) {
  std::mt19937 random(2);
  for (const FeedbackVariant& variant : feedback_variants()) {
    for (const DType type : both) {
      // Alone, 1e-9 is zero in fp16, and 1 + 2^-13 is 1 in both types.
      const std::vector<float> constant = {1e-9F, 1 + 0x1p-13F, -3e-8F, 0.1F, -123.456F};
      std::vector<float> residuals(constant.size());
      std::vector<double> sent(constant.size());
      constexpr int steps = 20000;
      for (int step = 0; step < steps; ++step) {
        const auto received = send(variant, type, 65504, constant, residuals);
        for (std::size_t i = 0; i < constant.size(); ++i)
          sent[i] += static_cast<double>(received[i]);
      }
      for (std::size_t i = 0; i < constant.size(); ++i) {
        const double truth = static_cast<double>(constant[i]) * steps;
        // The residual holds the rest; adding g + r rounds to 24 bits each time.
        const double missing = truth - sent[i] - static_cast<double>(residuals[i]);
        EXPECT_LE(std::abs(missing), std::abs(truth) * 0x1p-24)
            << variant.name << " " << constant[i];
        const double ulp = type == DType::f16 ? 0x1p-10 : 0x1p-7;
        EXPECT_LE(std::abs(static_cast<double>(residuals[i])),
                  std::max(std::abs(static_cast<double>(constant[i])) * ulp, 0x1p-24));
      }
    }
  }
}

TEST(ErrorFeedback, LargeGradientsWaitInTheResidualInsteadOfBecomingInfinite) {
  for (const int ranks : {1, 2, 3, 7, 1000}) {
    const float limit = largest_summand(DType::f16, ranks);
    std::vector<float> residuals = {0, 0};
    auto received = send(feedback_variants().back(), DType::f16, limit, {1e5F, -1e5F}, residuals);
    EXPECT_EQ(received, (std::vector<float>{limit, -limit}));
    EXPECT_EQ(residuals, (std::vector<float>{1e5F - limit, limit - 1e5F}));
    double sum = static_cast<double>(received[0]);
    for (int step = 0; step < 3000 && residuals[0] > 0; ++step) {
      received = send(feedback_variants().back(), DType::f16, limit, {0, 0}, residuals);
      sum += static_cast<double>(received[0]);
    }
    EXPECT_EQ(sum, 1e5) << "it all arrives";
  }
}

TEST(ErrorFeedback, NanAndInfinityAreSentAndNotKept) {
  for (const FeedbackVariant& variant : feedback_variants()) {
    for (const DType type : both) {
      const std::vector<float> gradients(33, 1.0F);
      auto broken = gradients;
      broken[0] = nan;
      broken[17] = infinity;
      broken[32] = -infinity;
      std::vector<float> residuals(33, 0.25F);
      const auto received = send(variant, type, 100, broken, residuals);
      EXPECT_TRUE(std::isnan(received[0]));
      EXPECT_EQ(received[17], infinity);
      EXPECT_EQ(received[32], -infinity);
      for (const std::size_t i : {0, 17, 32}) EXPECT_EQ(residuals[i], 0);
      const auto next = send(variant, type, 100, gradients, residuals);
      for (const float x : next) EXPECT_TRUE(std::isfinite(x));
    }
  }
}

/// `nodes` sums of `ranks` summands. Rounds after every addition, but once within a node, as
/// hierarchical does; with one rank per node, as mpi and ring do.
float sum_of(DType type, float summand, int nodes, int ranks) {
  const float node = round_trip(type, summand * static_cast<float>(ranks));
  float sum = node;
  for (int i = 1; i < nodes; ++i) sum = round_trip(type, sum + node);
  return sum;
}

TEST(ErrorFeedback, SumsOfTheLargestSummandsStayFinite) {
  for (const DType type : both) {
    // All numbers up to 1500, then in growing steps.
    for (int ranks = 1; ranks <= 300000; ranks += 1 + (ranks > 1500 ? ranks / 3 : 0)) {
      const float limit = largest_summand(type, ranks);
      ASSERT_EQ(round_trip(type, limit), limit);
      ASSERT_TRUE(std::isfinite(sum_of(type, limit, ranks, 1))) << ranks << to_string(type);
    }
    for (int nodes = 1; nodes <= 32; ++nodes) {
      for (const int ranks : {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 16, 18, 64, 128}) {
        const float limit = largest_summand(type, nodes * ranks);
        ASSERT_TRUE(std::isfinite(sum_of(type, limit, nodes, ranks)))
            << nodes << " x " << ranks << to_string(type);
      }
    }
  }
}

TEST(ErrorFeedback, TheLargestSummandIsNotMuchLessThanItsShare) {
  EXPECT_GT(largest_summand(DType::f16, 8), 0.99F * 65504 / 8);
  EXPECT_GT(largest_summand(DType::f16, 128), 0.9F * 65504 / 128);
  for (const int ranks : {1000, 30000, 1000000}) {
    const auto share = 1 / static_cast<float>(ranks);
    EXPECT_GT(largest_summand(DType::f16, ranks), 0.49F * 65504 * share);
    EXPECT_GT(largest_summand(DType::bf16, ranks), 0.49F * 3.38e38F * share);
  }
}

}  // namespace
}  // namespace dllaunch
