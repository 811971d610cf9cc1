// What watchdogs exchange once, before training: where each rank is and how to reach it.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/activity/activity.hpp"
#include "runtime/communicators/communicator.hpp"
#include "runtime/watchdog/message.hpp"
#include "runtime/watchdog/side_channel.hpp"
#include "support/shared_memory.hpp"

namespace dllaunch {

/// What a rank shares with the others of its node. Zeroed memory is a valid initial value.
struct RankRecord {
  Beacon beacon;
  alignas(64) std::atomic<std::int64_t> heartbeat_ns;
  std::atomic<bool> left;             // it has finished
  std::atomic<bool> told_death;       // it has reported the death of a rank
  std::atomic<std::int64_t> give_up;  // the reason, written by the node's speaker; 0: none
  // A question and its answer: what does your training thread do?
  std::atomic<std::uint64_t> stack_asked;
  std::atomic<std::uint64_t> stack_answered;
  std::array<std::atomic<std::uint64_t>, 64> stack_text;
};

void store_text(RankRecord& record, std::string_view text);
std::string load_text(const RankRecord& record);

struct Member {
  int node = 0;
  int group = 0;
  std::string host = {};
  pid_t pid = 0;
  pid_t thread = 0;  // the training thread
  std::uint16_t port = 0;
  std::vector<HostAddress> addresses = {};
};

struct Roster {
  int rank = 0;
  std::vector<Member> members;          // by rank
  std::vector<std::vector<int>> nodes;  // ranks that share memory, in order; at least one each
  JobToken token = {};

  int node() const { return members[static_cast<std::size_t>(rank)].node; }
  const std::vector<int>& neighbours() const { return nodes[static_cast<std::size_t>(node())]; }
};

/// The records of the node's ranks, including this rank's own.
class NodeBoard {
 public:
  RankRecord& own() const { return *records_[own_]; }
  /// In the order of Roster::neighbours().
  const std::vector<RankRecord*>& records() const { return records_; }

 private:
  friend class Introducer;
  std::vector<MappedMemory> mapped_;
  std::unique_ptr<RankRecord> unshared_;  // if the kernel provides no shared memory
  std::vector<RankRecord*> records_;
  std::size_t own_ = 0;
};

struct Acquaintance {
  Roster roster;
  NodeBoard board;
};

/// Collective, on the training thread. Ranks are on one node if they share a kernel, see each
/// other's processes and can open each other's memory; otherwise a rank is its own node.
Acquaintance introduce(Communicator& communicator, const std::string& host, std::uint16_t port,
                       int group = 0);

}  // namespace dllaunch
