// Where MIOpen caches compiled kernels and measurements. Its default is the home directory: if
// nodes share that, ranks of all nodes wait for each other's locks.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/rank/rank_env.hpp"

namespace dllaunch::hip {

/// Returns the first of SLURM_TMPDIR, TMPDIR and /tmp that is a writable folder on a local disk, or
/// nullopt.
std::optional<std::filesystem::path> node_disk(const EnvLookup& lookup);

/// Returns `disk`/dllaunch-miopen-UID, creating it for this user only. All ranks of the node share
/// it, and later runs reuse it. nullopt if it cannot be created, belongs to another user or is
/// writable by others.
std::optional<std::filesystem::path> private_folder(const std::filesystem::path& disk);

/// Returns the MIOpen variables to set, without those that the user has set, and creates the
/// folders they name. MIOpen reads them when it is loaded.
std::vector<std::pair<std::string, std::string>> miopen_variables(const EnvLookup& lookup);

}  // namespace dllaunch::hip
