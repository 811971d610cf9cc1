// One transfer between two hosts, and the side that gives.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "launcher/links/link_messages.hpp"
#include "support/network/sockets.hpp"
#include "support/result.hpp"

namespace dllaunch {

/// Serves transfers to clients that know the secret, in threads that live as long as the process.
/// `patience`: for each of a guest's messages. Returns the port. unavailable: there is none to
/// listen on.
Result<int> serve_links(const std::string& secret,
                        std::chrono::milliseconds patience = std::chrono::milliseconds(700));

struct PullLimits {
  std::chrono::milliseconds transfer{80};
  /// For the connection, for the first answer, and for all round trips together; with twice the
  /// transfer, for the data. A pull takes at most four times the transfer and three times this.
  std::chrono::milliseconds patience{600};
};

/// Takes data for the time that `limits` names, twice that at most, after some round trips of one
/// byte. Fills in rate and time of `data`, else `why`. The first quarter does not count: what
/// queues and token buckets held back comes in at once.
void pull_data(const std::vector<SocketAddress>& addresses, const std::string& secret,
               const PullLimits& limits, PulledData& data);

}  // namespace dllaunch
