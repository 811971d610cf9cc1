// Patterns that select parameters by name: "layer1", "layer?.*.bn2", "!fc".
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dllaunch {

/// Whether the pattern matches the name or a prefix of it that ends before a dot: "layer1" matches
/// "layer1.0.conv1.weight", but not "layer10.weight". `*` matches any characters, including dots;
/// `?` matches one.
bool pattern_matches(std::string_view pattern, std::string_view name);

/// Whether the patterns select the name. The last match decides; a pattern that begins with "!"
/// excludes. If the first pattern excludes, all other names are selected by default.
bool is_selected(std::span<const std::string> patterns, std::string_view name);

/// Returns the patterns that match no name: probably mistakes.
std::vector<std::string> unmatched_patterns(std::span<const std::string> patterns,
                                            std::span<const std::string> names);

/// Returns the distinct parts before the names' first dot, at most a dozen: "conv1, bn1, ...".
std::string name_prefixes(const std::vector<std::string>& names);

}  // namespace dllaunch
