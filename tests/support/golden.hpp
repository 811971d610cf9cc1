// Compares text that the user sees with a whole file.
#pragma once

#include <gtest/gtest.h>

#include <string>

namespace dllaunch {

/// Compares with tests/golden/NAME. DLLAUNCH_UPDATE_GOLDEN=1 writes the file instead; review it
/// with `git diff`.
testing::AssertionResult matches_golden(const std::string& name, const std::string& text);

/// The same for any file of the repository, such as "docs/reference/job-file.md".
testing::AssertionResult matches_file(const std::string& path, const std::string& text);

}  // namespace dllaunch
