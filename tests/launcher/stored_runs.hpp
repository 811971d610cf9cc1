// Run directories as `run` leaves them, and a world that reads them from the disk.
#pragma once

#include <filesystem>
#include <string>

#include "tests/launcher/disk_system.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {

struct RunToStore {
  std::string folder;           // below the place
  std::string name = "sleepy";  // of the job
  std::string job_id = {};      // empty: a local run
  std::string status = {};      // empty: no summary
  std::string array = {};
  bool trains = false;
  bool elastic = false;  // one node suffices
};

/// A home with an index, and a place for run directories.
/// Its folder is the working directory too: runs are also looked for in ./runs, which is the
/// developer's own where tests start in a clone's root.
class RunPlace {
 public:
  RunPlace();
  ~RunPlace();
  RunPlace(const RunPlace&) = delete;
  RunPlace& operator=(const RunPlace&) = delete;

  /// Writes the directory and remembers it, later ones as newer ones. Returns its path.
  std::string store(const RunToStore& run);
  void append(const std::string& run_path, const std::string& name, const std::string& text) const;
  std::string path_of(const std::string& folder) const { return folder_.path() + "/" + folder; }

  DiskSystem system;

 private:
  TemporaryFolder folder_;
  std::filesystem::path started_in_;
  int stored_ = 0;
};

}  // namespace dllaunch
