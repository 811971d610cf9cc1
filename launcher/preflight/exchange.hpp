// The nodes of a job try to talk to each other: each serves, and calls a few others.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "support/result.hpp"

namespace dllaunch {

struct ExchangePlan {
  std::string mark = {};                // of this pre-flight; others' calls are not answered
  std::string secret = {};              // what callers and called prove to each other to know
  std::vector<std::string> hosts = {};  // all nodes, each under the name it is called by
  std::size_t own = 0;                  // position of this one
  /// The address to be reached at where a network interface is named; empty: the host's name.
  std::string address = {};
  std::chrono::milliseconds patience{3000};
};

/// What came of calling one other node.
struct PeerCall {
  std::string host = {};
  bool reached = false;
  std::string why = {};      // not reached
  double round_trip_ms = 0;  // of a line and its answer
  double mb_per_s = 0;       // 1 MiB to the other one, 1 MB = 1e6 bytes
  double ahead_s = 0;        // its clock before ours, to within half the round trip
};

/// The positions that node `own` of `count` calls: its neighbours at distances 1, 2 and 5, so that
/// each node is called by three, and that calls of all nodes together reach across the job.
std::vector<std::size_t> peers_of(std::size_t own, std::size_t count);

/// The ports at which a host may be found, the first one that was free there; below those that
/// Linux gives out by itself.
std::vector<int> exchange_ports(const std::string& mark, const std::string& host);

/// Returns when this node has called its peers and those that call it have done so, or when
/// patience ends. Leaves threads behind: call it in a process that ends then.
/// unavailable: no port to listen on.
Result<std::vector<PeerCall>> exchange_with_peers(const ExchangePlan& plan);

}  // namespace dllaunch
