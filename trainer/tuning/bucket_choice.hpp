// runtime.bucket_mb: auto. Takes the size that an earlier run found, or tries some in the first
// steps and keeps the fastest. Sums do not depend on buckets, so neither do losses.
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
  std::filesystem::path file;  // that remembers answers (runtime/rank/measured.hpp); empty: none
  int nodes = 1;
  std::vector<std::string> table;                  // table_rows() of the model
  std::string wire;                                // how gradients travel
  std::function<void(std::string_view)> say = {};  // hears of the choice, on rank 0
};

class BucketChoice {
 public:
  /// Collective. Without `tune`, and where all sizes make the same buckets, or for one rank, it
  /// does nothing. References outlive this.
  BucketChoice(Communicator& communicator, ParameterArenas& arenas, GradientReducer& reducer,
               BucketPlace place, bool tune, TunerLimits limits = {});

  /// Around what is compared: the backward pass and the reduction, until all gradients are there.
  void start();
  void stop();
  /// Collective, after the update: the buckets of the next step.
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
  std::vector<Candidate> candidates_;  // different ones; the first is the default
  std::optional<BucketTuner> tuner_;   // while there is something to find out
  int taken_ = 0;
  Clock::time_point began_;
  Clock::time_point started_;
  double measured_s_ = 0;
};

}  // namespace dllaunch
