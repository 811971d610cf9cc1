// RUN/.rendezvous/START: where ranks of other nodes find rank 0, and the secret of the start.
#pragma once

#include <optional>
#include <string>

#include "launcher/rank/rendezvous/messages.hpp"
#include "support/result.hpp"

namespace dllaunch {

std::string meeting_file(const std::string& run_dir, const std::string& start_name);

/// unavailable: it cannot be written. bad_request: the folder is not this user's alone to write, or
/// the file system shows the secret to others.
Result<Ok> publish(const std::string& run_dir, const std::string& start_name,
                   const RendezvousPoint& point);

/// Nothing yet: no such file, or one of another start. bad_request: folder or file are links,
/// somebody else's, or others can write them, or read the secret.
Result<std::optional<RendezvousPoint>> published(const std::string& run_dir,
                                                 const std::string& start_name);

}  // namespace dllaunch
