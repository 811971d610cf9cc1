// Whether a run's directory exists and is writable now.
#pragma once

#include <string>
#include <utility>

#include "launcher/run/run_dir.hpp"
#include "support/held_folder.hpp"

namespace dllaunch {

class RunStorage {
 public:
  /// Assumes that the directory exists now. With an id, it must be that run's.
  explicit RunStorage(RunDir run);

  /// Returns "run directory /scratch/runs/a: write: No space left on device"; empty: no trouble.
  /// Writes a test file.
  std::string trouble() const;

  /// unavailable: the directory is missing or was replaced by another. Writes nothing.
  Result<Ok> check() const;

  /// Returns the result of `write`, or that of check() if it fails; then nothing is written.
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

}  // namespace dllaunch
