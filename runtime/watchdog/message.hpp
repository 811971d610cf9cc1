// What watchdogs of different nodes say to each other, one datagram each.
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

/// Random, of one job: datagrams of others do not carry it.
using JobToken = std::array<std::byte, 16>;

enum class MessageKind : std::uint8_t {
  report,       // to who judges, unasked: this is how my node stands, something is late here
  heard,        // the answer: somebody lives here
  ask,          // from who judges: how does your node stand?
  answer,       // to that
  describe,     // what are these ranks of your node doing?
  description,  // to that
  give_up,      // the job ends now
};

struct WatchdogMessage {
  MessageKind kind = MessageKind::heard;
  int from = 0;  // ranks
  int to = 0;
  std::vector<RankState> states = {};  // of the sender's node; `node` does not travel
  std::vector<int> ranks = {};         // to describe; of a description the one it is about
  std::string text = {};

  static constexpr std::size_t most_states = 16;
  static constexpr std::size_t most_ranks = 16;
  static constexpr std::size_t most_text = 800;
};

/// No network cuts a datagram of this size into pieces.
constexpr std::size_t most_message_bytes = 1280;

/// Longer lists and texts are cut.
std::vector<std::byte> encode(const WatchdogMessage& message, const JobToken& token);

/// Nothing for bytes that are no message of this job, or name a rank that it does not have.
std::optional<WatchdogMessage> decode(std::span<const std::byte> bytes, const JobToken& token,
                                      int ranks);

}  // namespace dllaunch
