// Answers ranks before their program starts: rank 0's server, and on each other node that of its
// first rank.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "support/awake_clock.hpp"
#include "support/result.hpp"

namespace dllaunch {

using Deadline = AwakeClock::time_point;

/// The server's task. It closes when all ranks have been served.
struct RendezvousDuty {
  std::string start_name = {};
  std::string answer = {};                // one line, the same for all
  std::string answer_here = {};           // for ranks of this node; empty: the same
  int askers = 0;                         // number of ranks that will ask
  std::vector<std::string> workers = {};  // by rank: addresses that are known; "": still to come
  /// Secret that ranks of other nodes must prove. Ranks of this node are identified by user id.
  std::string secret = {};
  /// Names of this node. A question to another name was relayed by a foreign process. Empty:
  /// unknown.
  std::vector<std::string> called = {};
  /// Called with a message for the user at the first foreign connection, and at the first rank with
  /// another secret. May be empty.
  std::function<void(const std::string&)> tell = {};
};

/// A socket for ranks of this node and optionally one for other nodes. Both end with this process
/// and leave nothing behind.
class RendezvousServer {
 public:
  /// `node`: index within the start. `ports`: candidates for ranks of other nodes, the first free
  /// one is used; 0: any; empty: no such socket. unavailable: no port is free, or this node has
  /// such a server already.
  static Result<RendezvousServer> open(const std::string& start_name, int node,
                                       const std::vector<int>& ports);

  RendezvousServer(RendezvousServer&& other) noexcept
      : local_(std::exchange(other.local_, -1)),
        remote_(std::exchange(other.remote_, -1)),
        port_(other.port_) {}
  RendezvousServer& operator=(RendezvousServer&&) = delete;
  ~RendezvousServer();

  int port() const { return port_; }  // for ranks of other nodes; 0: none

  /// Serves until every asker has its answer and every worker the table of all; returns the table.
  /// Foreign connections are refused and counted, and so are silent ones, sooner under load.
  /// timeout: says how many ranks did not connect, and how many foreign connections there were.
  Result<std::vector<std::string>> serve(const RendezvousDuty& duty, Deadline deadline) const;

 private:
  RendezvousServer() = default;

  int local_ = -1;
  int remote_ = -1;
  int port_ = 0;
};

/// Asks the server of this node. Empty: not there yet, or another user's. `look_around`: see
/// connect_here().
std::string ask_here(const std::string& start_name, int node, const std::string& question,
                     bool look_around, Deadline deadline);

}  // namespace dllaunch
