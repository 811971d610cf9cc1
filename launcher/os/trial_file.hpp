// Whether a folder can be written: by writing there.
#pragma once

#include <string>

namespace dllaunch {

struct TrialFailure {
  std::string what = {};  // which step failed and why; empty: none did
  int error = 0;          // errno; 0: the file was not what was written
};

/// Writes 256 KiB to a file without a name that lasts, forces it to storage and reads it back.
/// Nothing is left behind, unless the process dies between the file's making and the next line,
/// which takes its name away.
TrialFailure write_trial_file(const std::string& folder);

}  // namespace dllaunch
