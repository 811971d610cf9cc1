// Chooses runtime.bucket_mb for `auto`: takes the size an earlier run found, or times some sizes in
// the first steps and keeps the fastest. Sums do not depend on buckets, so losses do not either.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/gradients/bucket_tuner.hpp"
#include "runtime/gradients/gradient_reducer.hpp"
#include "trainer/parameters/parameter_arenas.hpp"

namespace dllaunch {

struct BucketPlace {
  std::filesystem::path file;  // remembers results (runtime/rank/measured.hpp); empty: none
  int nodes = 1;
  std::vector<std::string> table;                  // table_rows() of the model
  std::string wire;                                // gradient compression
  std::function<void(std::string_view)> say = {};  // receives the choice, on rank 0
};

class BucketChoice {
 public:
  /// Collective. Does nothing without `tune`, with one rank, or if all sizes give the same buckets.
  /// References must outlive this.
  BucketChoice(Communicator& communicator, ParameterArenas& arenas, GradientReducer& reducer,
               BucketPlace place, bool tune, TunerLimits limits = {});

  /// Whether it still times sizes.
  bool is_timing() const { return tuner_.has_value(); }
  /// Bracket the timed part: the backward pass and the reduction.
  void start();
  void stop();
  /// Collective. Call after the update; sets the buckets of the next step.
  void next();

 private:
  using Clock = std::chrono::steady_clock;
  struct Candidate {
    std::int64_t mib = 0;
    std::vector<Bucket> buckets;
  };

  std::string key() const;
  std::optional<int> remembered() const;
  void take(int candidate);
  void tell_and_remember() const;

  Communicator& communicator_;
  ParameterArenas& arenas_;
  GradientReducer& reducer_;
  BucketPlace place_;
  std::vector<Candidate> candidates_;  // distinct; the first is the default
  std::optional<BucketTuner> tuner_;   // while searching
  int taken_ = 0;
  Clock::time_point began_;
  Clock::time_point started_;
  double measured_s_ = 0;
};

}  // namespace dllaunch
