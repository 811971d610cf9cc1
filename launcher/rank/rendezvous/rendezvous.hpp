// The rendezvous: how the ranks of a start agree on rank 0's address and port before their program
// runs.
// It does not know the ranks' program or framework, and carries no training data.
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
  std::vector<std::string> names = {};  // of this node, best first
  std::vector<std::string> hosts = {};  // of all nodes, rank 0's first; empty: unknown
  std::string run_dir = {};             // on a shared file system; empty: none
  std::string token = {};               // DLLAUNCH_START_TOKEN; empty: unset
  std::string key_folder = {};          // folder of the user's key; empty: no home directory
  bool workers = false;                 // every rank needs a port and the table of all: TensorFlow
  std::chrono::seconds patience = std::chrono::seconds(300);
  /// Called with a message for the user when foreign connections arrive. May be empty.
  std::function<void(const std::string&)> tell = {};
};

struct Rendezvous {
  RendezvousPoint point = {};
  std::vector<std::string> workers = {};  // HOST:PORT by rank; empty unless requested
};

/// Rank 0 reserves the port for its program and answers the first rank of each node, which answers
/// the other ranks of its node: one question per node crosses the network, and at most one process
/// per node polls the shared file system. Ranks find rank 0 through a file RUN/.rendezvous/START,
/// or without a run directory on agreed ports of the step's first node. Files of an earlier start
/// are harmless: only an answer counts. Ranks of different nodes accept only messages that prove
/// knowledge of the start's secret: from the token, else the file, else the user's key. timeout:
/// names what did not connect or answer within `patience`. unavailable: no way to find rank 0, or
/// no port. bad_request: no key, or other users can change the file.
Result<Rendezvous> join_rendezvous(const RendezvousRequest& request);

}  // namespace dllaunch
