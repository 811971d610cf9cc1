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
  /// A link to where the daemon listens, a socket beside it or elsewhere.
  std::string socket() const { return folder + "/socket"; }
  std::string token() const { return folder + "/token"; }
};

/// $XDG_STATE_HOME/dllaunch/daemon, beside the index of runs. Not below $XDG_RUNTIME_DIR: that goes
/// with the last log-out, which the daemon is to survive. Makes nothing; nothing where there is no
/// home.
std::optional<DaemonPaths> daemon_paths(System& system);

/// Makes the folder, 0700. unavailable: it cannot be made. bad_request: it is a link, somebody
/// else's, or open to others and cannot be closed.
Result<Ok> make_private(const std::string& folder);

}  // namespace dllaunch
