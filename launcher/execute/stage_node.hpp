// Staging as one node does it: its own disk, its own copy, its own end.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "launcher/world.hpp"
#include "topology/result.hpp"

namespace dllaunch {

struct StageRequest {
  std::string folder = {};                // to be made; named by stage_folder()
  std::vector<std::string> sources = {};  // absolute paths
  std::string run_dir = {};  // its plan.json and train.json are taken along; empty: none
};

/// The folder for this node's own files: the first of SLURM_TMPDIR, TMPDIR and /tmp that is there,
/// not on a network file system, and has a plain name, which can stand in any command unquoted.
std::string node_disk(World& world);

/// Where a job's copies lie on each of its nodes.
std::string stage_folder(const std::string& disk, const std::string& job_id);

/// Beside the folder: the packed form that sbcast sends, before it is unpacked into the folder.
std::string source_parcel(const std::string& folder, const std::string& source);
std::string programs_parcel(const std::string& folder);

/// Makes the folder, anew where an earlier try left one, and fills it. A source comes from its
/// parcel where there is one. On failure nothing is left.
/// unavailable: in words that name this node.
Result<Ok> stage_on_this_node(World& world, const StageRequest& request);

/// Folder and parcels. bad_request: not a folder of ours.
Result<Ok> remove_stage(const std::string& folder);

/// Copies one source into the folder, unpacked when it is an archive.
Result<Ok> take_source(World& world, const std::string& source, const std::string& folder);

}  // namespace dllaunch
