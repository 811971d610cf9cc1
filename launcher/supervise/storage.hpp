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
  /// Assumes that the directory exists now. With an id, it must be that run's; its file counts as
  /// used from now on, for what removes old files. `guarded`: others can put another directory in
  /// its place.
  explicit RunStorage(RunDir run, bool guarded = false);

  /// Returns "run directory /scratch/runs/a: write: No space left on device"; empty: no trouble.
  /// Writes a test file.
  std::string trouble() const;

  /// Whether the error of a rank, written while there is no trouble, is of this file system: it was
  /// full, or did not give a file of the run. A data set's bad sector is none of it.
  bool is_blamed_by(std::string_view error_line) const;

  /// unavailable: the directory is missing or was replaced by another. Writes a lost .run-id anew
  /// where the directory is the same for sure.
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
  bool guarded_ = false;
  bool known_ = false;  // the directory that is held has shown the id
  bool had_plan_ = false;
};

}  // namespace dllaunch
