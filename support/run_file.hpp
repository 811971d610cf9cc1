// Files in a run's directory, which their user may share with his group (job file: `share: group`).
#pragma once

#include <sys/types.h>

#include <string>

namespace dllaunch {

/// Marks a run's directory as shared: RUN/.share.
constexpr const char* share_marker = ".share";
bool is_shared(const std::string& run_dir);

/// Opens RUN's file `path` for writing, as open(2) with `flags`, and never follows a link. A new
/// one has `mode`, less the umask; in a shared run's directory the group may read it, whatever the
/// umask. -1 (and errno) where it cannot be opened.
int open_run_file(const std::string& run_dir, const std::string& path, int flags,
                  mode_t mode = 0600);

}  // namespace dllaunch
