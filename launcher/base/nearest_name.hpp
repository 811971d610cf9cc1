// The known name that a mistyped one most likely means.
// Does not know what the names stand for: options, keys, partitions.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace dllaunch {

/// The name with the fewest insertions, deletions, replacements and swaps of neighbours, ignoring
/// case; the first of several equally near ones. nullopt if it differs in more than a third of its
/// letters.
std::optional<std::string> nearest_name(std::string_view word, std::span<const std::string> known);

}  // namespace dllaunch
