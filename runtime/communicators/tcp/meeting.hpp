// How the ranks of a start find each other: rank 0 listens where its launcher said, every other
// rank connects to it, and all get the table of all.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "runtime/communicators/tcp/entrance.hpp"
#include "runtime/communicators/tcp/hello.hpp"
#include "support/result.hpp"
#include "support/say.hpp"
#include "support/shared_memory.hpp"

namespace dllaunch {

struct MeetingPlan {
  int rank = 0;
  int size = 1;
  std::string address = {};            // of rank 0's node: MASTER_ADDR
  int port = 0;                        // of rank 0: MASTER_PORT
  std::string secret = {};             // of the start
  std::string host = {};               // this node's name, for messages
  std::string preferred = {};          // see Whereabouts
  int connections = 1;                 // between two ranks; rank 0's counts
  std::chrono::seconds patience{300};  // until all have met
  std::chrono::seconds quiet{10};      // until a rank that has not reached rank 0 says so
  Say warn = {};                       // see Entrance::Keeper
};

struct Met {
  std::unique_ptr<Entrance> entrance;  // for the ranks that connect later
  Table table;
  /// By rank: what the meeting leaves connected, non-blocking. Rank 0 has one to every other rank,
  /// and every other rank one to rank 0, unless both prefer other addresses than they met at.
  std::vector<FileDescriptor> sockets;
};

/// Collective. timeout: names the ranks that did not come, or says what answered in place of rank
/// 0. unavailable: no port.
Result<Met> meet(const MeetingPlan& plan);

}  // namespace dllaunch
