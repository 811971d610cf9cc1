// srun options that decide which nodes have which ranks.
#pragma once

#include <string>
#include <vector>

namespace dllaunch {

/// The first of `options` (srun's, as it reads them: abbreviated, bundled, values apart) that
/// chooses nodes or the order of ranks, or keeps variables from the ranks (--export without ALL);
/// empty: none does. --nodes of `nodes` and an unknown option do not count. `nodes` 0: each --nodes
/// counts.
std::string placing_option(const std::vector<std::string>& options, std::size_t nodes);

}  // namespace dllaunch
