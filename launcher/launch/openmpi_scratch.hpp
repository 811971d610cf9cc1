// Where Open MPI keeps its sockets and shared memory while a job runs on this machine.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "launcher/os/scratch_folder.hpp"

namespace dllaunch {

/// Two private folders, in TMPDIR and in /dev/shm, removed with all they hold at the end: however a
/// rank dies, no session directory and no shared segment of the job stays behind. Only a dllaunch
/// that was killed outright leaves them; the next one removes them.
class OpenMpiScratch {
 public:
  OpenMpiScratch();

  /// What sends Open MPI 4 and 5 there. A folder that could not be made is left to Open MPI.
  std::vector<std::pair<std::string, std::string>> variables() const;

 private:
  ScratchFolder session_;
  ScratchFolder shared_memory_;
};

}  // namespace dllaunch
