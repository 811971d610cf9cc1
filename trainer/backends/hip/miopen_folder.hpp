// Where MIOpen keeps what it compiles and measures. In a home that nodes share, as it would by
// itself, ranks of all nodes wait for each other's locks.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/rank/rank_env.hpp"

namespace dllaunch::hip {

/// A disk of this node: the first of SLURM_TMPDIR, TMPDIR and /tmp that is a folder which this
/// process may write and other machines do not see; nothing where none is.
std::optional<std::filesystem::path> node_disk(const EnvLookup& lookup);

/// `disk`/dllaunch-miopen-UID: of this user alone, kept for the runs to come, one for all ranks of
/// the node. Nothing where it cannot be made, or is somebody else's by whatever trick.
std::optional<std::filesystem::path> private_folder(const std::filesystem::path& disk);

/// Variables of MIOpen's and what they have to be, of those that the user has not set; its folders
/// are made. It reads them when it is loaded.
std::vector<std::pair<std::string, std::string>> miopen_variables(const EnvLookup& lookup);

}  // namespace dllaunch::hip
