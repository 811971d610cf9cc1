// Whether a run's directory exists and is writable now.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "launcher/run/run_dir.hpp"
#include "support/held_folder.hpp"

namespace dllaunch {

class RunStorage {
 public:
  /// As it is now, it is there. With an id it is that run's.
  explicit RunStorage(RunDir run);

  /// "run directory /scratch/runs/a: write: No space left on device"; empty: none. Writes there.
  std::string trouble() const;

  /// unavailable: it is away, or another directory has its name. Writes nothing.
  Result<Ok> check() const;

  /// What `write` says, or check() where that is no good and nothing is written.
  template <typename Write>
  auto write(Write write) const -> decltype(write()) {
    auto there = check();
    if (!there) return std::move(there).error();
    return write();
  }

 private:
  RunDir run_;
  HeldFolder folder_;
  bool had_plan_ = false;
};

/// Whether an error in a rank's log is of a file system that was full.
bool tells_of_no_room(std::string_view error_line);

}  // namespace dllaunch
