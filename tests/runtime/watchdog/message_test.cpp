#include "runtime/watchdog/message.hpp"
#include "tests/support/tier.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

namespace dllaunch {
namespace {

constexpr int ranks = 100;
const JobToken token = {std::byte{1}, std::byte{2}, std::byte{255}};

RankState sample_state(int rank) {
  RankState state;
  state.rank = rank;
  state.dead = rank % 2 == 0;
  state.left = rank % 3 == 0;
  state.heartbeat_age_ns = 17;
  state.step = 812;
  state.phase = RankPhase::checkpoint;
  state.phase_age_ns = 63'000'000'000;
  state.begun = {1234, 77};
  state.ended = {1233, 76};
  state.waiting_rank = rank % 4 == 0 ? 5 : -1;
  state.scope = rank % 5 == 0 ? CollectiveScope::group : CollectiveScope::world;
  state.waiting_for = 1234;
  state.waiting_age_ns = 61'000'000'000;
  state.kind = CollectiveKind::broadcast;
  state.bytes = std::uint64_t{25} << 20;
  return state;
}

std::vector<std::vector<std::byte>> samples() {
  WatchdogMessage states{.kind = MessageKind::answer, .from = 3, .to = 99};
  for (int rank = 0; rank < 13; ++rank) states.states.push_back(sample_state(rank));
  return {encode(states, token), encode({.kind = MessageKind::ask, .from = 0, .to = 1}, token),
          encode({.kind = MessageKind::describe, .from = 0, .to = 1, .ranks = {4, 5, 6}}, token),
          encode({.kind = MessageKind::description,
                  .from = 1,
                  .to = 0,
                  .ranks = {4},
                  .text = "poll < read_batch"},
                 token)};
}

TEST(WatchdogMessage, RoundTrips) {
  const auto answer = decode(samples()[0], token, ranks);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->kind, MessageKind::answer);
  EXPECT_EQ(answer->from, 3);
  EXPECT_EQ(answer->to, 99);
  ASSERT_EQ(answer->states.size(), 13u);
  for (int rank = 0; rank < 13; ++rank) {
    const RankState expected = sample_state(rank);
    const RankState& got = answer->states[static_cast<std::size_t>(rank)];
    EXPECT_EQ(got.rank, rank);
    EXPECT_EQ(got.dead, expected.dead);
    EXPECT_EQ(got.left, expected.left);
    EXPECT_EQ(got.heartbeat_age_ns, expected.heartbeat_age_ns);
    EXPECT_EQ(got.step, expected.step);
    EXPECT_EQ(got.phase, expected.phase);
    EXPECT_EQ(got.phase_age_ns, expected.phase_age_ns);
    EXPECT_EQ(got.begun, expected.begun);
    EXPECT_EQ(got.ended, expected.ended);
    EXPECT_EQ(got.waiting_for, expected.waiting_for);
    EXPECT_EQ(got.waiting_rank, expected.waiting_rank);
    EXPECT_EQ(got.scope, expected.scope);
    EXPECT_EQ(got.waiting_age_ns, expected.waiting_age_ns);
    EXPECT_EQ(got.kind, expected.kind);
    EXPECT_EQ(got.bytes, expected.bytes);
  }
  const auto description = decode(samples()[3], token, ranks);
  ASSERT_TRUE(description);
  EXPECT_EQ(description->ranks, std::vector<int>{4});
  EXPECT_EQ(description->text, "poll < read_batch");
}

TEST(WatchdogMessage, FitsOneDatagramForAnyContent) {
  WatchdogMessage states{.kind = MessageKind::report};
  states.states.resize(200);
  EXPECT_LE(encode(states, token).size(), most_message_bytes);
  const WatchdogMessage text{.kind = MessageKind::description,
                             .ranks = std::vector<int>(500, 1),
                             .text = std::string(100'000, 'x')};
  EXPECT_LE(encode(text, token).size(), most_message_bytes);
  EXPECT_TRUE(decode(encode(text, token), token, ranks));
}

TEST(WatchdogMessage, OfAnotherJobOrAboutUnknownRanksIsRejected) {
  for (const auto& bytes : samples()) {
    EXPECT_TRUE(decode(bytes, token, ranks));
    EXPECT_FALSE(decode(bytes, JobToken{}, ranks));
    EXPECT_FALSE(decode(bytes, token, 1));
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_FALSE(decode(std::span(bytes).first(size), token, ranks));
    }
    auto longer = bytes;
    longer.push_back({});
    EXPECT_FALSE(decode(longer, token, ranks));
  }
}

TEST(WatchdogMessage, DamagedBytesNeverNameUnknownRanks) {
  std::mt19937 random(11);
  const int rounds = full_tier() ? 2'000'000 : 100'000;
  int accepted = 0;
  for (int i = 0; i < rounds; ++i) {
    auto bytes = samples()[random() % 4];
    for (unsigned hits = 1 + random() % 8; hits > 0; --hits) {
      // After the token: messages without it are refused at once.
      bytes[20 + random() % (bytes.size() - 20)] = static_cast<std::byte>(random());
    }
    if (random() % 4 == 0) bytes.resize(random() % (bytes.size() + 1));
    const auto message = decode(bytes, token, ranks);
    if (!message) continue;
    ++accepted;
    EXPECT_TRUE(message->from >= 0 && message->from < ranks);
    EXPECT_TRUE(message->to >= 0 && message->to < ranks);
    EXPECT_LE(message->text.size(), WatchdogMessage::most_text);
    EXPECT_LE(message->states.size(), WatchdogMessage::most_states);
    for (const int rank : message->ranks) EXPECT_TRUE(rank >= 0 && rank < ranks);
    for (const auto& state : message->states) {
      EXPECT_TRUE(state.rank >= 0 && state.rank < ranks);
      EXPECT_FALSE(to_string(state.phase).empty());
      EXPECT_FALSE(to_string(state.kind).empty());
      EXPECT_GE(state.waiting_age_ns, 0);
      EXPECT_TRUE(state.waiting_rank >= -1 && state.waiting_rank < ranks);
      EXPECT_LE(state.scope, CollectiveScope::group);
    }
  }
  EXPECT_GT(accepted, rounds / 100);
}

}  // namespace
}  // namespace dllaunch
