// Whether a run's directory can be used now: it is there, and takes what is written.
#pragma once

#include <string>
#include <string_view>

#include "launcher/run_dir.hpp"

namespace dllaunch {

class RunStorage {
 public:
  /// As it is now, it is there.
  explicit RunStorage(RunDir run);

  /// "run directory /scratch/runs/a: write: No space left on device"; empty: none. Writes there.
  std::string trouble() const;

 private:
  RunDir run_;
  bool had_plan_ = false;
};

/// Whether an error in a rank's log is of a file system that was full.
bool tells_of_no_room(std::string_view error_line);

}  // namespace dllaunch
