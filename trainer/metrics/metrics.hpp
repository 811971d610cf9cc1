// How often a classifier is right: whole numbers, so that ranks add them up exactly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runtime/communicators/communicator.hpp"

namespace dllaunch {

/// Of one class, over all images.
struct ClassCounts {
  std::int64_t actual = 0;     // images that have it
  std::int64_t predicted = 0;  // images that were given it
  std::int64_t hit = 0;        // both

  /// hit / predicted, hit / actual, and their harmonic mean 2 hit / (predicted + actual). Absent
  /// where the denominator is 0.
  std::optional<double> precision() const;
  std::optional<double> recall() const;
  std::optional<double> f1() const;
};

/// Counts over images, whatever their order and however ranks share them.
class Metrics {
 public:
  static constexpr int top = 5;
  /// More classes have no confusion matrix: this one has 8 MiB.
  static constexpr int most_classes_of_matrix = 1024;

  /// `sets`: images have any number of classes.
  explicit Metrics(int classes, bool sets = false);

  /// Images with one class each: logits [images, classes], labels [images]. The first of equal
  /// largest logits is the answer; a row that holds a NaN has none.
  void add(std::span<const double> logits, std::span<const std::int32_t> labels);

  /// Images with any number of classes: targets [images, classes], 0 or 1. A class is given where
  /// its logit is above 0, a probability above one half.
  void add_multi_label(std::span<const double> logits, std::span<const float> targets);

  /// Collective: every rank ends with the sums over all of them.
  void sum_over_ranks(Communicator& communicator);

  int classes() const { return classes_; }
  std::int64_t images() const { return counts_[0]; }
  /// Of images with every class right. Absent without images.
  std::optional<double> accuracy() const;
  /// Of images whose class is among the five largest logits. Absent where that says nothing: for
  /// five classes or fewer, and for images with several classes.
  std::optional<double> top5_accuracy() const;
  /// 2 hits / (predicted + actual), all classes together. Equals accuracy for one class an image.
  std::optional<double> f1_micro() const;
  /// Mean of f1() over the classes that any image has or was given.
  std::optional<double> f1_macro() const;
  ClassCounts of_class(int number) const;
  /// Images of class `actual` that were given `predicted`.
  std::int64_t confused(int actual, int predicted) const;
  /// There is a matrix: one class an image, and not too many classes.
  bool has_matrix() const { return !multi_label_ && classes_ <= most_classes_of_matrix; }

 private:
  std::size_t at_class(int number) const { return 3 + 3 * static_cast<std::size_t>(number); }
  std::size_t at_matrix(int actual, int predicted) const;

  int classes_;
  bool multi_label_;
  // Images, right ones, right ones among five, three counts of each class, the matrix row by row.
  std::vector<std::int64_t> counts_;
};

}  // namespace dllaunch
