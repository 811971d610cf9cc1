// Where ranks ask before their program starts: rank 0's, and on each other node its first rank's.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "support/result.hpp"

namespace dllaunch {

using Deadline = std::chrono::steady_clock::time_point;

/// What the server is for. It closes when all have been served.
struct RendezvousDuty {
  std::string start_name = {};
  std::string answer = {};                // one line, for everybody who asks
  std::string answer_here = {};           // for ranks of this node; empty: the same
  int askers = 0;                         // so many ranks will ask
  std::vector<std::string> workers = {};  // by rank: addresses that are known; "": still to come
  /// What a rank of another node must prove to know. Ranks of this node are known by their user.
  std::string secret = {};
  /// What others call this node: a question to another one is a stranger's who passes it on. Empty:
  /// not known.
  std::vector<std::string> called = {};
  /// Takes a sentence for the user when the first stranger came, and the first rank with another
  /// secret. May be empty.
  std::function<void(const std::string&)> tell = {};
};

/// A socket for the ranks of this node and, where wanted, one for those of others. Both end with
/// this process's program: what is left behind is nothing.
class RendezvousServer {
 public:
  /// `node`: counted within the start. `ports`: for ranks of other nodes, the first free one; 0:
  /// any; none: no such socket.
  /// unavailable: no port is free, or this node has such a server already.
  static Result<RendezvousServer> open(const std::string& start_name, int node,
                                       const std::vector<int>& ports);

  RendezvousServer(RendezvousServer&& other) noexcept
      : local_(std::exchange(other.local_, -1)),
        remote_(std::exchange(other.remote_, -1)),
        port_(other.port_) {}
  RendezvousServer& operator=(RendezvousServer&&) = delete;
  ~RendezvousServer();

  int port() const { return port_; }  // for ranks of other nodes; 0: none

  /// Answers until every asker has its answer and every worker the table of all; returns the table.
  /// Strangers are turned away and counted; a visitor who says nothing for long is one, or while
  /// many others come. timeout: says how many did not come, and how many strangers did.
  Result<std::vector<std::string>> serve(const RendezvousDuty& duty, Deadline deadline) const;

 private:
  RendezvousServer() = default;

  int local_ = -1;
  int remote_ = -1;
  int port_ = 0;
};

/// One question to the server of this node. Empty: nobody is there yet, or it is not ours.
/// `look_around`: see connect_here().
std::string ask_here(const std::string& start_name, int node, const std::string& question,
                     bool look_around, Deadline deadline);

}  // namespace dllaunch
