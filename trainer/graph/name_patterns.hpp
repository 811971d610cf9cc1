// Which names of a network somebody means: "layer1", "layer?.*.bn2", "!fc".
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dllaunch {

/// `*` stands for any characters, dots too, `?` for one. A pattern means a name and everything
/// below it: "layer1" means "layer1.0.conv1.weight", but not "layer10.weight".
bool pattern_means(std::string_view pattern, std::string_view name);

/// The last pattern that means a name decides: one that begins with "!" takes the name out again. A
/// list that begins with such a one means all other names.
bool is_selected(std::span<const std::string> patterns, std::string_view name);

/// The patterns that mean none of the names: mistakes, most likely.
std::vector<std::string> useless_patterns(std::span<const std::string> patterns,
                                          std::span<const std::string> names);

/// What stands in front of the first dot of the names, each once, a dozen at most: "conv1, bn1,
/// ...".
std::string first_parts(const std::vector<std::string>& names);

}  // namespace dllaunch
