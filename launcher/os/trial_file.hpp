// Tests whether a folder is writable, by writing to it.
#pragma once

#include <string>

namespace dllaunch {

struct TrialFailure {
  std::string what = {};  // the step that failed and why; empty: none did
  int error = 0;          // errno; 0: the data read differ from the data written
};

/// Writes 256 KiB to an unlinked file, syncs it and reads it back. Leaves nothing behind, unless
/// the process dies between open() and unlink().
TrialFailure write_trial_file(const std::string& folder);

}  // namespace dllaunch
