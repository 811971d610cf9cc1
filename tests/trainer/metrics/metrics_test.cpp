#include "trainer/metrics/metrics.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "trainer/losses/loss.hpp"

namespace dllaunch {
namespace {

const double nan = std::numeric_limits<double>::quiet_NaN();

TEST(Metrics, OfSixImagesByHand) {
  Metrics metrics(3);
  // Predictions 0 0 1 | 1 2 | 0: two of the first three, one of the next two, and not the last are
  // correct.
  metrics.add(std::vector<double>{9, 1, 1, 9, 1, 1, 1, 9, 1, 1, 9, 1, 1, 1, 9, 9, 1, 1},
              std::vector<std::int32_t>{0, 0, 0, 1, 1, 2});
  EXPECT_EQ(metrics.images(), 6);
  EXPECT_DOUBLE_EQ(metrics.accuracy().value(), 3 / 6.0);
  EXPECT_EQ(metrics.confused(0, 0), 2);
  EXPECT_EQ(metrics.confused(0, 1), 1);
  EXPECT_EQ(metrics.confused(1, 1), 1);
  EXPECT_EQ(metrics.confused(1, 2), 1);
  EXPECT_EQ(metrics.confused(2, 0), 1);
  EXPECT_EQ(metrics.confused(2, 2), 0);
  EXPECT_DOUBLE_EQ(metrics.of_class(0).precision().value(), 2 / 3.0);
  EXPECT_DOUBLE_EQ(metrics.of_class(0).recall().value(), 2 / 3.0);
  EXPECT_DOUBLE_EQ(metrics.of_class(1).f1().value(), 1 / 2.0);
  EXPECT_DOUBLE_EQ(metrics.of_class(2).f1().value(), 0);
  EXPECT_DOUBLE_EQ(metrics.f1_macro().value(), (2 / 3.0 + 1 / 2.0 + 0) / 3);
  EXPECT_DOUBLE_EQ(metrics.f1_micro().value(), metrics.accuracy().value());
}

TEST(Metrics, OfSeveralClassesAnImageByHand) {
  Metrics metrics(3, /*sets=*/true);
  // Predicted: {0, 2}, {1}, {}; actual: {0}, {1}, {1}.
  metrics.add_multi_label(std::vector<double>{2, -1, 0.1, -1, 3, -2, -1, 0, -1},
                          std::vector<float>{1, 0, 0, 0, 1, 0, 0, 1, 0});
  EXPECT_EQ(metrics.images(), 3);
  EXPECT_DOUBLE_EQ(metrics.accuracy().value(), 1 / 3.0);
  EXPECT_DOUBLE_EQ(metrics.f1_micro().value(), 2 * 2 / (3.0 + 3.0));
  EXPECT_DOUBLE_EQ(metrics.f1_macro().value(), (1 + 2 / 3.0 + 0) / 3);
  EXPECT_FALSE(metrics.top5_accuracy());
  EXPECT_FALSE(metrics.has_matrix());
  metrics.add_multi_label(std::vector<double>{nan, nan, nan}, std::vector<float>{0, 0, 0});
  EXPECT_DOUBLE_EQ(metrics.accuracy().value(), 1 / 4.0);
}

TEST(Metrics, TopFiveMatchesASortedRow) {
  Metrics metrics(7);
  const std::vector<double> row{7, 6, 5, 4, 3, 2, 1};
  for (const std::int32_t label : {0, 4, 5, 6}) metrics.add(row, std::vector{label});
  EXPECT_DOUBLE_EQ(metrics.accuracy().value(), 1 / 4.0);
  EXPECT_DOUBLE_EQ(metrics.top5_accuracy().value(), 2 / 4.0);
  // Among equal logits the first one wins.
  Metrics equal(7);
  for (std::int32_t label = 0; label < 7; ++label) {
    equal.add(std::vector<double>(7, 0.5), std::vector{label});
  }
  EXPECT_DOUBLE_EQ(equal.accuracy().value(), 1 / 7.0);
  EXPECT_DOUBLE_EQ(equal.top5_accuracy().value(), 5 / 7.0);
}

TEST(Metrics, UndefinedOnesAreAbsent) {
  Metrics metrics(5);
  EXPECT_FALSE(metrics.accuracy() || metrics.f1_macro() || metrics.f1_micro());
  metrics.add(std::vector<double>{1, 0, 0, 0, 0}, std::vector<std::int32_t>{0});
  EXPECT_FALSE(metrics.top5_accuracy());  // every class is in the top 5 of five
  EXPECT_FALSE(metrics.of_class(1).f1());
  EXPECT_FALSE(metrics.of_class(1).recall());
  EXPECT_DOUBLE_EQ(metrics.f1_macro().value(), 1);  // only of the class that occurs
}

TEST(Metrics, ARowWithNaNHasNoPrediction) {
  Metrics metrics(6);
  metrics.add(std::vector<double>{9, 0, 0, 0, 0, nan}, std::vector<std::int32_t>{0});
  EXPECT_EQ(metrics.images(), 1);
  EXPECT_EQ(metrics.accuracy(), 0);
  EXPECT_EQ(metrics.top5_accuracy(), 0);
  EXPECT_EQ(metrics.of_class(0).actual, 1);
  EXPECT_EQ(metrics.of_class(0).predicted, 0);
  EXPECT_EQ(metrics.confused(0, 0), 0);
}

TEST(Metrics, OfManyClassesHaveNoMatrix) {
  Metrics most(Metrics::most_classes_of_matrix);
  EXPECT_TRUE(most.has_matrix());
  const int classes = Metrics::most_classes_of_matrix + 1;
  Metrics metrics(classes);
  std::vector<double> row(static_cast<std::size_t>(classes));
  row.back() = 1;
  metrics.add(row, std::vector<std::int32_t>{classes - 1});
  EXPECT_FALSE(metrics.has_matrix());
  EXPECT_EQ(metrics.of_class(classes - 1).hit, 1);
}

/// An independent implementation: sorts rows and counts pairs.
TEST(Metrics, MatchAnIndependentCountOverRandomImages) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    const int classes = 2 + static_cast<int>(random() % 20);
    const std::size_t images = random() % 60;
    std::vector<double> logits(images * static_cast<std::size_t>(classes));
    for (double& logit : logits) logit = static_cast<double>(random() % 9) - 4;  // many ties
    std::vector<std::int32_t> labels(images);
    for (auto& label : labels) label = static_cast<std::int32_t>(random() % classes);

    Metrics metrics(classes);
    std::size_t first = 0;  // in batches of any size
    const auto width = static_cast<std::size_t>(classes);
    while (first < images) {
      const std::size_t count = std::min(images - first, 1 + random() % 9);
      metrics.add(std::span(logits).subspan(first * width, count * width),
                  std::span(labels).subspan(first, count));
      first += count;
    }

    std::int64_t right = 0;
    std::int64_t among_five = 0;
    std::vector<std::vector<std::int64_t>> matrix(width, std::vector<std::int64_t>(width));
    for (std::size_t n = 0; n < images; ++n) {
      std::vector<int> order(width);
      std::iota(order.begin(), order.end(), 0);
      std::ranges::stable_sort(order, std::greater(), [&](int k) {
        return logits[n * width + static_cast<std::size_t>(k)];
      });
      const auto place = std::ranges::find(order, labels[n]) - order.begin();
      right += place == 0 ? 1 : 0;
      among_five += place < 5 ? 1 : 0;
      ++matrix[static_cast<std::size_t>(labels[n])][static_cast<std::size_t>(order[0])];
    }
    ASSERT_EQ(metrics.images(), static_cast<std::int64_t>(images));
    if (images == 0) continue;
    EXPECT_EQ(metrics.accuracy(), static_cast<double>(right) / static_cast<double>(images));
    if (classes > 5) {
      EXPECT_EQ(metrics.top5_accuracy(),
                static_cast<double>(among_five) / static_cast<double>(images));
    }
    EXPECT_EQ(count_correct(logits, labels), right);
    for (int actual = 0; actual < classes; ++actual) {
      for (int predicted = 0; predicted < classes; ++predicted) {
        ASSERT_EQ(metrics.confused(actual, predicted),
                  matrix[static_cast<std::size_t>(actual)][static_cast<std::size_t>(predicted)]);
      }
    }
    EXPECT_DOUBLE_EQ(metrics.f1_micro().value(), metrics.accuracy().value());
  }
}

}  // namespace
}  // namespace dllaunch
