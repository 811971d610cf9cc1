// Whether a folder can be written: by writing there.
#pragma once

#include <string>

namespace dllaunch {

/// Writes 256 KiB to a file without a name that lasts, forces it to storage and reads it back.
/// Empty: it did; else which step failed and why. Nothing is left behind, unless the process dies
/// between the file's making and the next line, which takes its name away.
std::string write_trial_file(const std::string& folder);

}  // namespace dllaunch
