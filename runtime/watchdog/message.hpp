// Messages between watchdogs of different nodes, one datagram each.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/watchdog/judgement.hpp"

namespace dllaunch {

/// Random, one per job: rejects datagrams of other jobs.
using JobToken = std::array<std::byte, 16>;

enum class MessageKind : std::uint8_t {
  report,       // to the judge, unsolicited: the state of my node, where something is late
  heard,        // the reply: this rank is alive
  ask,          // from the judge: what is the state of your node?
  answer,       // the reply
  describe,     // what are these ranks of your node doing?
  description,  // the reply
  give_up,      // the job ends now
};

struct WatchdogMessage {
  MessageKind kind = MessageKind::heard;
  int from = 0;  // ranks
  int to = 0;
  std::vector<RankState> states = {};  // of the sender's node; `node` and `group` are not sent
  std::vector<int> ranks = {};         // for `describe`; in a description, the one it is about
  std::string text = {};

  static constexpr std::size_t most_states = 13;
  static constexpr std::size_t most_ranks = 16;
  static constexpr std::size_t most_text = 800;
};

/// No network fragments a datagram of this size.
constexpr std::size_t most_message_bytes = 1280;

/// Truncates longer lists and texts.
std::vector<std::byte> encode(const WatchdogMessage& message, const JobToken& token);

/// nullopt for bytes that are not a message of this job, or that name a rank it does not have.
std::optional<WatchdogMessage> decode(std::span<const std::byte> bytes, const JobToken& token,
                                      int ranks);

}  // namespace dllaunch
