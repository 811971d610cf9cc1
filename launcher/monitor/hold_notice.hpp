// Tells who follows a run what only its supervisor knows: that its allocation is held after an
// error, and that it goes on; what it waits for.
#pragma once

#include <string>
#include <utility>

#include "launcher/run/journal.hpp"
#include "launcher/run/run_dir.hpp"

namespace dllaunch {

class HoldNotice {
 public:
  explicit HoldNotice(std::string job) : job_(std::move(job)) {}

  /// What is to be said now; empty: nothing new. Each wait, hold and retry once; no hold that is
  /// over (`now`: Unix seconds), or of another job.
  std::string look(const Journal& journal, const RunDir& run, double now);

 private:
  std::string job_;
  std::string waits_for_ = {};
  double told_ = 0;  // when the hold that was told of began
  bool waits_ = false;
};

}  // namespace dllaunch
