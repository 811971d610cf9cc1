// Folders for Open MPI's sockets and shared memory during a local job.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "launcher/os/scratch_folder.hpp"

namespace dllaunch {

/// Two private folders, in TMPDIR and /dev/shm, removed with their content at the end: no session
/// directory or shared segment stays behind, also of a dllaunch that is killed.
class OpenMpiScratch {
 public:
  OpenMpiScratch();

  /// Returns the variables that direct Open MPI 4 and 5 there. A folder that could not be created
  /// is left to Open MPI.
  std::vector<std::pair<std::string, std::string>> variables() const;
  /// The processes that remove the folders if this one is killed.
  std::set<pid_t> removers() const { return {session_.remover(), shared_memory_.remover()}; }

 private:
  ScratchFolder session_;
  ScratchFolder shared_memory_;
};

}  // namespace dllaunch
