// What changed between two texts, as patch(1) takes it.
#pragma once

#include <string>
#include <string_view>

namespace dllaunch::lint {

/// "--- FILE", "+++ FILE" and hunks with three lines of context; empty where nothing changed.
/// Meant for local edits: where the texts differ over thousands of lines, all of them are replaced.
std::string unified_diff(const std::string& file, std::string_view before, std::string_view after);

}  // namespace dllaunch::lint
