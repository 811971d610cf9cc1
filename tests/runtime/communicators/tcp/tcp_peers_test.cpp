#include "runtime/communicators/tcp/tcp_peers.hpp"

#include <gtest/gtest.h>

#include <map>

#include "runtime/rank/transport.hpp"
#include "tests/runtime/communicators/peers/exercises.hpp"
#include "tests/runtime/communicators/tcp/ranks.hpp"

namespace dllaunch {
namespace {

class TcpPeersOf : public testing::TestWithParam<int> {
 protected:
  static void on_ranks(const std::function<void(Peers&)>& body) { on_tcp_ranks(GetParam(), body); }
};
INSTANTIATE_TEST_SUITE_P(Ranks, TcpPeersOf, testing::Values(1, 2, 3, 4, 5, 8));

TEST_P(TcpPeersOf, AMessageOfAnySizeArrivesWhole) {
  on_ranks(expect_messages_arrive_whole);
}

TEST_P(TcpPeersOf, ALimitChangesNothing) {
  on_ranks(expect_pieces_arrive_whole);
}

TEST_P(TcpPeersOf, AGroupKnowsItsRanks) {
  on_ranks(expect_groups_know_their_ranks);
}

TEST_P(TcpPeersOf, GroupsAreApart) {
  on_ranks(expect_groups_are_apart);
}

TEST_P(TcpPeersOf, GatherAll) {
  on_ranks(expect_gathers_all);
}

TEST_P(TcpPeersOf, CollectivesEndInAnyOrder) {
  on_ranks(expect_collectives_end_in_any_order);
}

TEST_P(TcpPeersOf, ActionsContinueExchanges) {
  on_ranks(expect_actions_continue_exchanges);
}

/// Neither rank receives before it has sent.
void send_much_at_once(int connections) {
  constexpr std::size_t bytes = std::size_t{64} << 20;
  const auto body = [](Peers& peers) {
    const auto out = letter(peers.rank(), bytes);
    std::vector<std::byte> in(bytes);
    const Pending sent = peers.open();
    const Pending received = peers.open();
    peers.send(sent, out.data(), bytes, 1 - peers.rank(), 0);
    for (int i = 0; i < 100; ++i) peers.progress();
    peers.receive(received, in.data(), bytes, 1 - peers.rank(), 0);
    peers.wait(sent);
    peers.wait(received);
    EXPECT_TRUE(in == letter(1 - peers.rank(), bytes));
  };
  on_tcp_ranks(2, body, connections);
}

TEST(TcpPeers, TwoRanksSendMuchToEachOtherAtOnce) {
  send_much_at_once(1);
}

TEST(TcpPeers, TwoRanksMayHaveSeveralConnections) {
  send_much_at_once(4);
  for (const int ranks : {2, 3, 5}) {
    on_tcp_ranks(ranks, expect_messages_arrive_whole, 3);
    on_tcp_ranks(ranks, expect_collectives_end_in_any_order, 3);
  }
  on_tcp_ranks(
      2, [](Peers& peers) { EXPECT_EQ(peers.transport(), "tcp-2x8"); }, 8);
}

TEST(TcpPeers, ANumberOfConnectionsHasBounds) {
  for (const char* number : {"0", "9", "two", ""}) {
    const auto lookup = [&](const std::string& name) -> std::optional<std::string> {
      return name == "DLLAUNCH_TCP_CONNECTIONS" ? number : "1";
    };
    const auto opened = open_tcp_peers({.rank = 1, .world_size = 2}, lookup);
    ASSERT_FALSE(opened) << number;
    EXPECT_EQ(opened.error().what, "DLLAUNCH_TCP_CONNECTIONS=" + std::string(number) +
                                       ": a number from 1 to 8 is wanted");
  }
}

/// Rank 0 runs ahead: nothing waits for it but memory.
TEST(TcpPeers, ARankMayRunAhead) {
  on_tcp_ranks(2, [](Peers& peers) {
    constexpr std::uint64_t messages = 1500;
    constexpr std::size_t bytes = 60'000;  // together more than what may wait
    const auto out = letter(0, bytes);
    std::vector<std::vector<std::byte>> in(peers.rank() == 0 ? 0 : messages,
                                           std::vector<std::byte>(bytes));
    std::vector<Pending> exchanges;
    for (std::uint64_t round = 0; round < messages; ++round) {
      exchanges.push_back(peers.open());
      if (peers.rank() == 0) {
        peers.send(exchanges.back(), out.data(), bytes, 1, round);
      } else {
        peers.receive(exchanges.back(), in[round].data(), bytes, 0, round);
        for (int i = 0; i < 3; ++i) peers.progress();
      }
    }
    for (const Pending each : exchanges) peers.wait(each);
    EXPECT_TRUE(std::ranges::all_of(in, [&](auto& each) { return each == out; }));
  });
}

TEST(TcpPeers, ARankThatEndsHasSentItsLast) {
  for (int times = 0; times < 20; ++times) {
    on_tcp_ranks(3, [](Peers& peers) {
      std::vector<std::byte> text = letter(0, 50'000);
      const Pending exchange = peers.open();
      if (peers.rank() == 0) {
        for (const int to : {1, 2}) peers.send(exchange, text.data(), text.size(), to, 0);
      } else {
        std::ranges::fill(text, std::byte{0});
        peers.receive(exchange, text.data(), text.size(), 0, 0);
      }
      peers.wait(exchange);
      EXPECT_TRUE(text == letter(0, 50'000));
    });
  }
}

TEST(TcpPeers, NeedAPlaceToMeetAndASecret) {
  std::map<std::string, std::string> variables;
  const auto lookup = [&](const std::string& name) -> std::optional<std::string> {
    const auto at = variables.find(name);
    return at == variables.end() ? std::nullopt : std::optional(at->second);
  };
  const RankEnv two{.rank = 1, .world_size = 2};
  for (const auto& [name, value] : std::map<std::string, std::string>{
           {"MASTER_ADDR", "n1"}, {"MASTER_PORT", "70000"}, {start_secret_variable, "s"}}) {
    variables[name] = value;
    const auto opened = open_tcp_peers(two, lookup);
    ASSERT_FALSE(opened) << name;
    EXPECT_EQ(opened.error().kind, ErrorKind::unavailable);
    EXPECT_EQ(opened.error().what,
              "2 ranks cannot meet over TCP: MASTER_ADDR, MASTER_PORT and DLLAUNCH_START_SECRET "
              "are not all set");
    EXPECT_EQ(opened.error().hint,
              "start them through `dllaunch exec`, or with MPI: srun --mpi=pmix, or mpirun");
  }
}

TEST(TcpPeers, ShareTheConnectionsOfAProcess) {
  const auto nothing = [](const std::string&) -> std::optional<std::string> {
    return std::nullopt;
  };
  const auto one = open_tcp_peers({}, nothing);
  ASSERT_TRUE(one);
  const auto other = open_tcp_peers({}, nothing);
  ASSERT_TRUE(other);
  expect_groups_are_apart(**one);
  EXPECT_EQ((*other)->transport(), "tcp-2x1");
}

}  // namespace
}  // namespace dllaunch
