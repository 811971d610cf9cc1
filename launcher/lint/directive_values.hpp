// Which values sbatch takes for its options.
#pragma once

#include <string>
#include <string_view>

namespace dllaunch::lint {

/// Why sbatch refuses the value of a long option: "is no time: ..."; empty where it takes it, or
/// where only the cluster can tell.
std::string fault_of_value(std::string_view option, std::string_view value);

/// Megabytes of "64G", "4096"; -1 where it is none.
long megabytes(std::string_view value);

}  // namespace dllaunch::lint
