// The known name that a mistyped one most likely means.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace dllaunch {

/// The name with the fewest insertions, deletions, replacements and swaps of neighbours, upper and
/// lower case alike; absent where even that one differs in more than a third of its letters.
/// The first of several equally near ones.
std::optional<std::string> nearest_name(std::string_view word, std::span<const std::string> known);

}  // namespace dllaunch
