// Metrics of predictions: accuracy, confusion, regression errors, summed over ranks.
// Knows nothing about networks, data sets or reports. Counts are integers, so sums are exact.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runtime/communicators/communicator.hpp"

namespace dllaunch {

/// Counts of one class over all images.
struct ClassCounts {
  std::int64_t actual = 0;     // images of this class
  std::int64_t predicted = 0;  // images predicted as this class
  std::int64_t hit = 0;        // images of this class predicted as it

  /// hit / predicted, hit / actual, and their harmonic mean 2 hit / (predicted + actual). nullopt
  /// if the denominator is 0.
  std::optional<double> precision() const;
  std::optional<double> recall() const;
  std::optional<double> f1() const;
};

/// Classification counts. The result does not depend on the order of images or their distribution
/// over ranks.
class Metrics {
 public:
  static constexpr int top = 5;
  /// Above this there is no confusion matrix; at this size it takes 8 MiB.
  static constexpr int most_classes_of_matrix = 1024;

  /// `sets`: multi-label, images have any number of classes.
  explicit Metrics(int classes, bool sets = false);

  /// Adds images with one class each: logits [images, classes], labels [images]. The prediction is
  /// the first of the largest logits; a row with a NaN has no prediction.
  void add(std::span<const double> logits, std::span<const std::int32_t> labels);

  /// Adds multi-label images: targets [images, classes], 0 or 1. A class is predicted if its logit
  /// is above 0, which is a probability above one half.
  void add_multi_label(std::span<const double> logits, std::span<const float> targets);

  /// Collective. Every rank gets the sums over all ranks.
  void sum_over_ranks(Communicator& communicator);

  int classes() const { return classes_; }
  std::int64_t images() const { return counts_[0]; }
  /// Share of images with every class right. nullopt without images.
  std::optional<double> accuracy() const;
  /// Share of images whose class is among the five largest logits. nullopt with five classes or
  /// fewer and for multi-label images.
  std::optional<double> top5_accuracy() const;
  /// 2 hits / (predicted + actual) over all classes. Equals accuracy() with one class per image.
  std::optional<double> f1_micro() const;
  /// Mean of f1() over the classes that occur as actual or predicted.
  std::optional<double> f1_macro() const;
  ClassCounts of_class(int number) const;
  /// Number of images of class `actual` that were predicted as `predicted`.
  std::int64_t confused(int actual, int predicted) const;
  /// True with one class per image and at most most_classes_of_matrix classes.
  bool has_matrix() const { return !multi_label_ && classes_ <= most_classes_of_matrix; }

 private:
  std::size_t at_class(int number) const { return 3 + 3 * static_cast<std::size_t>(number); }
  std::size_t at_matrix(int actual, int predicted) const;

  int classes_;
  bool multi_label_;
  // Images, correct ones, correct in top 5, three counts per class, the matrix row by row.
  std::vector<std::int64_t> counts_;
};

}  // namespace dllaunch
