#include "trainer/metrics/metrics.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace dllaunch {
namespace {

std::optional<double> ratio(std::int64_t part, std::int64_t whole) {
  if (whole == 0) return std::nullopt;
  return static_cast<double>(part) / static_cast<double>(whole);
}

std::size_t cells_of_matrix(int classes) {
  if (classes > Metrics::most_classes_of_matrix) return 0;
  return static_cast<std::size_t>(classes) * static_cast<std::size_t>(classes);
}

/// Returns the rank of `label` among the logits; 0 is the prediction.
std::ptrdiff_t place_of(std::span<const double> row, std::size_t label) {
  const auto split = row.begin() + static_cast<std::ptrdiff_t>(label);
  const double own = *split;
  return std::count_if(row.begin(), split, [own](double other) { return other >= own; }) +
         std::count_if(split, row.end(), [own](double other) { return other > own; });
}

}  // namespace

std::optional<double> ClassCounts::precision() const {
  return ratio(hit, predicted);
}

std::optional<double> ClassCounts::recall() const {
  return ratio(hit, actual);
}

std::optional<double> ClassCounts::f1() const {
  return ratio(2 * hit, predicted + actual);
}

Metrics::Metrics(int classes, bool sets)
    : classes_(classes),
      multi_label_(sets),
      counts_(at_class(classes) + (sets ? 0 : cells_of_matrix(classes))) {}

std::size_t Metrics::at_matrix(int actual, int predicted) const {
  return at_class(classes_) +
         static_cast<std::size_t>(actual) * static_cast<std::size_t>(classes_) +
         static_cast<std::size_t>(predicted);
}

void Metrics::add(std::span<const double> logits, std::span<const std::int32_t> labels) {
  const auto width = static_cast<std::size_t>(classes_);
  assert(logits.size() == labels.size() * width);
  for (std::size_t n = 0; n < labels.size(); ++n) {
    const auto row = logits.subspan(n * width, width);
    const std::int32_t label = labels[n];
    assert(label >= 0 && label < classes_);
    ++counts_[0];
    ++counts_[at_class(label)];
    if (std::ranges::any_of(row, [](double logit) { return std::isnan(logit); })) continue;
    const auto answer = static_cast<int>(std::ranges::max_element(row) - row.begin());
    const std::ptrdiff_t place = place_of(row, static_cast<std::size_t>(label));
    if (place == 0) ++counts_[1];
    if (place < top) ++counts_[2];
    ++counts_[at_class(answer) + 1];
    if (answer == label) ++counts_[at_class(label) + 2];
    if (has_matrix()) ++counts_[at_matrix(label, answer)];
  }
}

void Metrics::add_multi_label(std::span<const double> logits, std::span<const float> targets) {
  assert(logits.size() == targets.size());
  assert(multi_label_);
  const auto width = static_cast<std::size_t>(classes_);
  for (std::size_t begin = 0; begin < logits.size(); begin += width) {
    bool right = true;
    for (int number = 0; number < classes_; ++number) {
      const std::size_t i = begin + static_cast<std::size_t>(number);
      const bool actual = targets[i] > 0.5F;
      const bool predicted = logits[i] > 0;
      std::int64_t* counts = &counts_[at_class(number)];
      counts[0] += actual ? 1 : 0;
      counts[1] += predicted ? 1 : 0;
      counts[2] += actual && predicted ? 1 : 0;
      right = right && actual == predicted && !std::isnan(logits[i]);
    }
    ++counts_[0];
    if (right) ++counts_[1];
  }
}

void Metrics::sum_over_ranks(Communicator& communicator) {
  communicator.wait(
      communicator.all_reduce(counts_.data(), counts_.size(), DType::i64, ReduceOp::sum));
}

std::optional<double> Metrics::accuracy() const {
  return ratio(counts_[1], images());
}

std::optional<double> Metrics::top5_accuracy() const {
  if (multi_label_ || classes_ <= top) return std::nullopt;
  return ratio(counts_[2], images());
}

std::optional<double> Metrics::f1_micro() const {
  ClassCounts all;
  for (int number = 0; number < classes_; ++number) {
    const ClassCounts one = of_class(number);
    all.actual += one.actual;
    all.predicted += one.predicted;
    all.hit += one.hit;
  }
  return all.f1();
}

std::optional<double> Metrics::f1_macro() const {
  double sum = 0;
  int present = 0;
  for (int number = 0; number < classes_; ++number) {
    const auto f1 = of_class(number).f1();
    if (!f1) continue;
    sum += *f1;
    ++present;
  }
  if (present == 0) return std::nullopt;
  return sum / present;
}

ClassCounts Metrics::of_class(int number) const {
  const std::int64_t* counts = &counts_[at_class(number)];
  return {.actual = counts[0], .predicted = counts[1], .hit = counts[2]};
}

std::int64_t Metrics::confused(int actual, int predicted) const {
  assert(has_matrix());
  return counts_[at_matrix(actual, predicted)];
}

}  // namespace dllaunch
