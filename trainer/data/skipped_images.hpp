// Counts and reports skipped bad images: each rank names its own, rank 0 has the total.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "runtime/communicators/communicator.hpp"
#include "support/result.hpp"
#include "support/say.hpp"

namespace dllaunch {

class SkippedImages {
 public:
  /// `warn` gets the first ten distinct bad images of this rank.
  explicit SkippedImages(Say warn) : warn_(std::move(warn)) {}

  void add(const std::vector<Error>& skipped);

  /// Collective. Returns the number of images added on all ranks since the previous call.
  std::int64_t take_sum(Communicator& communicator);

 private:
  Say warn_;
  std::set<std::string> told_;
  std::int64_t count_ = 0;
};

/// Returns ", 3 bad images skipped", or "" for none.
std::string render_skipped(std::int64_t skipped);

}  // namespace dllaunch
