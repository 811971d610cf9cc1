// The daemon's per-user folder and the files in it.
#pragma once

#include <optional>
#include <string>

#include "launcher/os/system.hpp"
#include "support/result.hpp"

namespace dllaunch {

struct DaemonPaths {
  std::string folder;  // absolute; private to this user

  std::string store() const { return folder + "/store.db"; }
  std::string lock() const { return folder + "/lock"; }
  std::string submit_lock() const { return folder + "/submit.lock"; }
  std::string log() const { return folder + "/daemon.log"; }
  /// A link to the daemon's socket, beside it or elsewhere.
  std::string socket() const { return folder + "/socket"; }
  std::string token() const { return folder + "/token"; }
};

/// Returns $XDG_STATE_HOME/dllaunch/daemon, beside the index of runs; nullopt without a home
/// directory. Not in $XDG_RUNTIME_DIR, which is removed at the last log-out; the daemon outlives
/// that. Creates nothing.
std::optional<DaemonPaths> daemon_paths(System& system);

/// Creates the folder with mode 0700. unavailable: it cannot be created. bad_request: it is a link,
/// owned by another user, or accessible to others and cannot be restricted.
Result<Ok> make_private(const std::string& folder);

}  // namespace dllaunch
