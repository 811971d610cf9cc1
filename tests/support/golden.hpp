// Text the user sees, compared whole with a file.
#pragma once

#include <gtest/gtest.h>

#include <string>

namespace dllaunch {

/// Compares with tests/golden/NAME. DLLAUNCH_UPDATE_GOLDEN=1 writes the file instead: `git diff` is
/// the review.
testing::AssertionResult matches_golden(const std::string& name, const std::string& text);

/// The same with any file of the repository, "docs/job-file.md".
testing::AssertionResult matches_file(const std::string& path, const std::string& text);

}  // namespace dllaunch
