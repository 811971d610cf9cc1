// Staging on one node: copies a job's sources to the node's own disk and removes them.
// It knows nothing of other nodes; stage_job.hpp reaches all of them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "launcher/os/system.hpp"
#include "launcher/staging/stage_parcel.hpp"
#include "support/result.hpp"

namespace dllaunch {

struct StageRequest {
  std::string folder = {};           // from stage_folder()
  bool made = false;                 // created by make_stage_folder(): by a keeper, or for parcels
  std::vector<Parcel> parcels = {};  // in the folder; other files there are ignored
  std::vector<std::string> sources = {};  // absolute paths
  std::string run_dir = {};  // its plan.json and train.json are copied too; empty: none
};

/// Returns the folder for files local to this node: the first of SLURM_TMPDIR, TMPDIR and /tmp that
/// exists, is not on a network file system, has a name that needs no quoting, and in which no other
/// user can rename our files; and which variable's was left out for the last reason.
std::string node_disk(System& system, std::string* passed_over = nullptr);

/// Returns where a job's copies are on each node. `id`: from own_stage_id(), unpredictable, so that
/// another user cannot create the folder first.
std::string stage_folder(const std::string& disk, const std::string& id);

/// Returns "7-0f2a...": the job id and 64 random bits.
std::string own_stage_id(const std::string& job_id);

/// Creates the folder, private to the user, and removes copies of earlier starts of the job on this
/// node. unavailable: names this node; the path exists already, or cannot be created.
Result<Ok> make_stage_folder(System& system, const std::string& folder);

/// Creates the folder in it that receives parcels. Errors as for make_stage_folder().
Result<Ok> make_parcel_folder(System& system, const std::string& folder);

/// Fills the folder, and creates it unless the request says that it exists. Uses parcels, whose
/// checksums must match. On failure nothing is left. unavailable: names this node.
Result<Ok> stage_on_this_node(System& system, const StageRequest& request);

/// bad_request: not our folder: another name or owner, accessible to others, or a link.
Result<Ok> remove_stage(const std::string& folder);

/// Copies one source into the folder; unpacks archives.
Result<Ok> take_source(System& system, const std::string& source, const std::string& folder);

}  // namespace dllaunch
