// Where Open MPI keeps its sockets and shared memory while a job runs on this machine.
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace dllaunch {

/// Two private folders, in TMPDIR and in /dev/shm, removed with all they hold at the end: however a
/// rank dies, no session directory and no shared segment of the job stays behind. Only a dllaunch
/// that was killed outright leaves them; the next one removes them.
class OpenMpiScratch {
 public:
  OpenMpiScratch();
  OpenMpiScratch(const OpenMpiScratch&) = delete;
  OpenMpiScratch& operator=(const OpenMpiScratch&) = delete;
  ~OpenMpiScratch();

  /// What sends Open MPI 4 and 5 there. A folder that could not be made is left to Open MPI.
  std::vector<std::pair<std::string, std::string>> variables() const;

 private:
  /// Locked as long as its owner lives, so that sweep_scratch() knows whose is whose.
  struct Folder {
    std::string path = {};  // empty: could not be made
    int lock = -1;
  };
  static Folder make_folder(const std::string& below);

  Folder session_;
  Folder shared_memory_;
};

/// Removes our own scratch folders in `below` that nobody holds and that are older than `age`: one
/// just made may not be locked yet. Returns how many.
int sweep_scratch(const std::string& below, std::chrono::seconds age);

}  // namespace dllaunch
