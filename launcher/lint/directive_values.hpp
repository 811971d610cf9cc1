// Which values sbatch accepts for its options.
#pragma once

#include <string>
#include <string_view>

namespace dllaunch::lint {

/// Why sbatch refuses the value of a long option: "is not a time: ..."; empty if it accepts the
/// value or only the cluster can tell.
std::string fault_of_value(std::string_view option, std::string_view value);

/// Returns the megabytes in "64G" or "4096", rounded up as by Slurm; -1 if it is not a size.
long megabytes(std::string_view value);

}  // namespace dllaunch::lint
