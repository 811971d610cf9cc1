// RUN/.rendezvous/START: tells ranks of other nodes rank 0's address and the start's secret.
#pragma once

#include <optional>
#include <string>

#include "launcher/rank/rendezvous/messages.hpp"
#include "support/result.hpp"

namespace dllaunch {

std::string meeting_file(const std::string& run_dir, const std::string& start_name);

/// unavailable: it cannot be written. bad_request: other users can write the folder, or the file
/// system exposes the secret.
Result<Ok> publish(const std::string& run_dir, const std::string& start_name,
                   const RendezvousPoint& point);

/// Returns nullopt if there is no file yet, or one of another start. bad_request: folder or file is
/// a link, belongs to another user, or is accessible to others.
Result<std::optional<RendezvousPoint>> published(const std::string& run_dir,
                                                 const std::string& start_name);

}  // namespace dllaunch
