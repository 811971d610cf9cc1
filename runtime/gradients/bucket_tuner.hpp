// Finds the fastest bucket size in the first steps of a training. No clocks and no communication:
// the caller passes how long each step took on the slowest rank, so all ranks decide alike.
#pragma once

#include <cstddef>
#include <vector>

namespace dllaunch {

struct TunerLimits {
  double seconds = 2;        // of all trial steps together
  int rounds = 5;            // each round tries each candidate once
  int fewest_rounds = 3;     // with fewer, chance would decide
  double worthwhile = 0.02;  // share of a step that another size must save to be chosen
};

class BucketTuner {
 public:
  /// The first candidate wins unless another is better. Two steps precede the comparison: the first
  /// pays for page faults and connections, the second shows how many candidates there is time for,
  /// from the front.
  explicit BucketTuner(int candidates, TunerLimits limits = {});

  bool done() const { return done_; }
  /// The candidate for the next step.
  int trial() const { return done_ ? choice_ : trial_; }

  /// `seconds`: the time to compare. `elapsed_s`: since the beginning of the trial.
  void record(double seconds, double elapsed_s);

  /// Valid once done. Without measurements: the first candidate, and false.
  int choice() const { return choice_; }
  bool measured() const { return measured_; }
  /// The median over rounds.
  double seconds_of(int candidate) const;

 private:
  void plan(double step_s, double elapsed_s);
  void decide();

  TunerLimits limits_;
  int candidates_;
  int rounds_ = 0;
  int before_ = 2;  // warm-up steps left
  double latest_s_ = 0;
  bool done_ = false;
  bool measured_ = false;
  int trial_ = 0;
  int choice_ = 0;
  std::vector<std::vector<double>> seconds_;  // by candidate
};

}  // namespace dllaunch
