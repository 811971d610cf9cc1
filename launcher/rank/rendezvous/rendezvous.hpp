// How the ranks of one start learn where to meet, before any of them becomes its program.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "launcher/rank/rendezvous/messages.hpp"
#include "runtime/rank/rank_env.hpp"

namespace dllaunch {

struct RendezvousRequest {
  RankEnv rank = {};
  std::string start_name = {};
  std::vector<std::string> names = {};  // of this node, the best first
  std::vector<std::string> hosts = {};  // of all nodes, rank 0's first; empty: not known
  std::string run_dir = {};             // on a file system of all nodes; empty: none
  std::string token = {};               // DLLAUNCH_START_TOKEN; empty: not set
  std::string key_folder = {};          // of this user's key; empty: there is no home
  bool workers = false;                 // every rank needs a port, and all know all: TensorFlow
  std::chrono::seconds patience = std::chrono::seconds(300);
  /// Takes a sentence for the user: strangers came. May be empty.
  std::function<void(const std::string&)> tell = {};
};

struct Rendezvous {
  RendezvousPoint point = {};
  std::vector<std::string> workers = {};  // HOST:PORT by rank; empty where not asked for
};

/// Rank 0 reserves the port, which stays reserved for its program, and answers the first rank of
/// each node, which answers those of its node: one question a node crosses the network, and no more
/// than one process a node looks at the shared file system. They find rank 0 by a file
/// RUN/.rendezvous/START that it writes, or without a run directory on agreed ports of the step's
/// first node. What a former start left there is harmless: only an answer counts. Ranks of several
/// nodes believe each other what proves to come from somebody who knows the secret of the start: of
/// the token, else of the file, else of a key of the user.
/// timeout: who did not come, or did not answer, within `patience`. unavailable: no way to find
/// rank 0, or no port. bad_request: there is no key, or others can change what stands in a file.
Result<Rendezvous> join_rendezvous(const RendezvousRequest& request);

}  // namespace dllaunch
