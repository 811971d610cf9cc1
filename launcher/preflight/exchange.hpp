// Connection test between the nodes of a job: each node serves, and calls a few others.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "support/result.hpp"

namespace dllaunch {

struct ExchangePlan {
  std::string mark = {};                // identifies this pre-flight; other calls are not answered
  std::string secret = {};              // shared secret that both sides prove
  std::vector<std::string> hosts = {};  // all nodes, by the names they are called by
  std::size_t own = 0;                  // index of this node
  /// The address to use if a network interface is named; empty: that of the host name.
  std::string address = {};
  std::chrono::milliseconds patience{3000};
};

/// The result of calling another node.
struct PeerCall {
  std::string host = {};
  bool reached = false;
  std::string why = {};      // empty: reached
  double round_trip_ms = 0;  // for a line and its answer
  double mb_per_s = 0;       // 1 MiB to the other one, 1 MB = 1e6 bytes
  double ahead_s = 0;        // its clock minus this one, to within half the round trip
};

/// Returns the nodes that node `own` of `count` calls: neighbours at distances 1, 2 and 5. Each
/// node is called by three, and the calls together connect the job.
std::vector<std::size_t> peers_of(std::size_t own, std::size_t count);

/// Returns the ports on which a host may listen; it uses the first free one. Below Linux's
/// ephemeral range.
std::vector<int> exchange_ports(const std::string& mark, const std::string& host);

/// Returns when this node has called its peers and their calls have ended, or when patience ends.
/// Leaves threads behind: call it in a process that exits afterwards. unavailable: no port to
/// listen on.
Result<std::vector<PeerCall>> exchange_with_peers(const ExchangePlan& plan);

}  // namespace dllaunch
