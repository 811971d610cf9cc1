// Bad images that training goes on without: each rank says which, rank 0 how many.
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
  /// `warn` hears of the first ten different ones of this rank.
  explicit SkippedImages(Say warn) : warn_(std::move(warn)) {}

  void add(const std::vector<Error>& skipped);

  /// Collective: how many all ranks have added since the latest call.
  std::int64_t take_sum(Communicator& communicator);

 private:
  Say warn_;
  std::set<std::string> told_;
  std::int64_t count_ = 0;
};

/// ", 3 bad images skipped", or nothing when there are none.
std::string render_skipped(std::int64_t skipped);

}  // namespace dllaunch
