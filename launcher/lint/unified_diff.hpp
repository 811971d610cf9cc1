// The differences between two texts, in the format of patch(1).
#pragma once

#include <string>
#include <string_view>

namespace dllaunch::lint {

/// "--- FILE", "+++ FILE" and hunks with three lines of context; empty if nothing changed. For
/// local edits: texts that differ over thousands of lines are replaced as a whole.
std::string unified_diff(const std::string& file, std::string_view before, std::string_view after);

}  // namespace dllaunch::lint
