// Which size of buckets is fastest here, found in the first steps of a training. No clocks, no
// communication: the caller says how long each step took on the slowest rank, the same on all
// ranks, and all decide alike.
#pragma once

#include <cstddef>
#include <vector>

namespace dllaunch {

struct TunerLimits {
  double seconds = 2;        // of all steps under trial
  int rounds = 5;            // each candidate is tried once in a round
  int fewest_rounds = 3;     // below, chance would decide
  double worthwhile = 0.02;  // of a step: what another size must save to be taken
};

class BucketTuner {
 public:
  /// The first candidate is what is taken unless another is better. Two steps come before any are
  /// compared: in the first pages and connections are new, the second tells how many candidates
  /// there is time for, from the front.
  explicit BucketTuner(int candidates, TunerLimits limits = {});

  bool done() const { return done_; }
  /// The candidate of the next step.
  int trial() const { return done_ ? choice_ : trial_; }

  /// `seconds`: what is compared. `elapsed_s`: since the beginning of the trial.
  void record(double seconds, double elapsed_s);

  /// Once done. Nothing was measured: the first candidate, and false.
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
  int before_ = 2;  // steps to come before those that are compared
  double latest_s_ = 0;
  bool done_ = false;
  bool measured_ = false;
  int trial_ = 0;
  int choice_ = 0;
  std::vector<std::vector<double>> seconds_;  // per candidate
};

}  // namespace dllaunch
