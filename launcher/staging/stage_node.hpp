// Staging as one node does it: its own disk, its own copy, its own end.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "launcher/os/system.hpp"
#include "launcher/staging/stage_parcel.hpp"
#include "support/result.hpp"

namespace dllaunch {

struct StageRequest {
  std::string folder = {};                // named by stage_folder()
  bool made = false;                      // by make_stage_folder(), for parcels to be sent there
  std::vector<Parcel> parcels = {};       // that lie in it; any other file there is not ours
  std::vector<std::string> sources = {};  // absolute paths
  std::string run_dir = {};  // its plan.json and train.json are taken along; empty: none
};

/// The folder for this node's own files: the first of SLURM_TMPDIR, TMPDIR and /tmp that is there,
/// not on a network file system, has a plain name, which can stand in any command unquoted, and in
/// which no other user can rename what is ours.
std::string node_disk(System& system);

/// Where a job's copies lie on each of its nodes. `id`: of the job and its start, own_stage_id(),
/// so that another user cannot make a folder of that name first.
std::string stage_folder(const std::string& disk, const std::string& id);

/// "7-0f2a...": the job's number and 64 random bits.
std::string own_stage_id(const std::string& job_id);

/// Makes the folder, for this user alone, and removes what earlier starts of the same job left on
/// this node. unavailable: in words that name this node; something of that name is there already.
Result<Ok> make_stage_folder(System& system, const std::string& folder);

/// Makes the folder in it that parcels are sent to. Errors as make_stage_folder().
Result<Ok> make_parcel_folder(System& system, const std::string& folder);

/// Fills the folder, which is made where the request does not say that it was. What a parcel
/// brought is taken from that, and its checksum must hold. On failure nothing is left. unavailable:
/// in words that name this node.
Result<Ok> stage_on_this_node(System& system, const StageRequest& request);

/// bad_request: not a folder of ours: another name, another user's, open to others, or a link.
Result<Ok> remove_stage(const std::string& folder);

/// Copies one source into the folder, unpacked when it is an archive.
Result<Ok> take_source(System& system, const std::string& source, const std::string& folder);

}  // namespace dllaunch
