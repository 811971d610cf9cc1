#include "runtime/communicators/tcp/links.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/tcp.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <latch>
#include <thread>

#include "support/network/sockets.hpp"
#include "tests/runtime/communicators/tcp/own_network.hpp"
#include "tests/runtime/communicators/tcp/ranks.hpp"

namespace dllaunch {
namespace {

using std::chrono::milliseconds;

void on_links(int size, const std::function<void(Links&, const MeetingPlan&)>& body) {
  on_plans(size, [&](const MeetingPlan& plan) {
    auto met = meet(plan);
    ASSERT_TRUE(met) << met.error().what;
    Links links(plan, *std::move(met));
    body(links, plan);
  });
}

void wait_for(Links& links, const std::vector<std::int64_t>& list, std::size_t count) {
  while (list.size() < count) links.progress(milliseconds(10));
}

/// Every rank sends its number to every other; all call all at once.
void exchange_with_all(Links& links, std::uint64_t tag) {
  const auto size = static_cast<std::size_t>(links.size());
  const std::int64_t mine = links.rank() + 100;
  std::vector<std::int64_t> got(size);
  std::vector<std::int64_t> ended;
  for (int rank = 0; rank < links.size(); ++rank) {
    const MessageName name{0, tag, sizeof mine};
    links.send(rank, name, reinterpret_cast<const std::byte*>(&mine), {&ended});
    links.receive(rank, name, reinterpret_cast<std::byte*>(&got[static_cast<std::size_t>(rank)]),
                  {&ended});
  }
  wait_for(links, ended, 2 * size);
  for (std::size_t rank = 0; rank < size; ++rank) {
    EXPECT_EQ(got[rank], static_cast<std::int64_t>(rank) + 100);
  }
}

/// How many sockets of this process are connected to `address`.
std::size_t connections_to(const std::string& address) {
  std::size_t count = 0;
  for (int descriptor = 0; descriptor < 1024; ++descriptor) {
    count += peer_of(descriptor) == address ? 1u : 0u;
  }
  return count;
}

TEST(Links, TakeThePreferredAddresses) {
  std::latch done(2);
  on_plans(2, [&](MeetingPlan plan) {
    plan.preferred = "127.0.0." + std::to_string(plan.rank + 8);
    plan.warn = [](std::string_view text) { ADD_FAILURE() << text; };
    auto met = meet(plan);
    ASSERT_TRUE(met) << met.error().what;
    Links links(plan, *std::move(met));
    exchange_with_all(links, 0);
    done.arrive_and_wait();
    if (plan.rank == 0) {
      EXPECT_GE(connections_to("127.0.0.8") + connections_to("127.0.0.9"), 1u);
    }
    exchange_with_all(links, 1);
  });
}

/// As of a card without a cable, or whose network does not lead to the other node.
TEST(Links, APreferredAddressThatDoesNotAnswerIsLeft) {
  std::array<std::atomic<int>, 3> warned = {};
  on_plans(3, [&](MeetingPlan plan) {
    auto& own = warned[static_cast<std::size_t>(plan.rank)];
    plan.preferred = "198.51.100." + std::to_string(plan.rank + 1);  // for documentation: nobody's
    plan.warn = [&](std::string_view text) {
      ++own;
      EXPECT_THAT(text, testing::ContainsRegex(
                            "rank . on n. does not answer at 198.51.100.., its network card's "
                            "address: .*; messages take the network over which the ranks met"));
    };
    auto met = meet(plan);
    ASSERT_TRUE(met) << met.error().what;
    Links links(plan, *std::move(met));
    for (std::uint64_t tag = 0; tag < 3; ++tag) exchange_with_all(links, tag);
    EXPECT_LE(own, 1);
  });
  EXPECT_GE(warned[0] + warned[1] + warned[2], 2) << "the ranks that called";
}

// Two ranks often call each other at the same moment here.
TEST(Links, AllRanksCallEachOtherAtOnce) {
  for (int times = 0; times < 5; ++times) {
    on_links(8, [](Links& links, const MeetingPlan&) {
      for (std::uint64_t tag = 0; tag < 20; ++tag) exchange_with_all(links, tag);
      EXPECT_EQ(links.refused(), 0);
    });
  }
}

// Ten thousand connections that speak another protocol, some hundreds at once.
TEST(Links, StrangersAreRefusedAndRanksGoOn) {
  constexpr std::uint64_t exchanges = 50;
  constexpr long knocks = 200;  // before each
  std::atomic<long> came = 0;
  on_links(3, [&](Links& links, const MeetingPlan& plan) {
    std::deque<FileDescriptor> strangers;
    const auto knock = [&] {
      constexpr std::size_t most_open = 300;
      for (long i = 0; i < knocks && plan.rank == 2; ++i) {
        strangers.emplace_back(connect_to(plan.address, plan.port));
        if (::send(strangers.back().get(), "x\n", 2, MSG_NOSIGNAL) == 2) ++came;
        if (strangers.size() > most_open) strangers.pop_front();
      }
    };
    for (std::uint64_t tag = 0; tag < exchanges; ++tag) {
      knock();
      exchange_with_all(links, tag);
    }
    // Until rank 0 has refused all, the others wait.
    if (plan.rank == 0) {
      EXPECT_GT(came, static_cast<long>(exchanges) * knocks * 9 / 10);
      while (links.refused() < came) links.progress(milliseconds(10));
    }
    exchange_with_all(links, exchanges);
  });
}

TEST(Links, GroupsGetNumbersThatNoRankHasUsed) {
  on_links(1, [](Links& links, const MeetingPlan&) {
    const auto first = links.next_group();
    links.take_group(first + 7);
    EXPECT_EQ(links.next_group(), first + 8);
  });
}

class LinksDeath : public testing::Test {
 protected:
  LinksDeath() { testing::FLAGS_gtest_death_test_style = "threadsafe"; }
};

/// Rank 1 ends, rank 0 still expects a message.
void lose_a_rank(bool before_its_call) {
  on_links(3, [=](Links& links, const MeetingPlan& plan) {
    if (!before_its_call) exchange_with_all(links, 0);
    if (plan.rank == 1) return;
    std::int64_t number = 0;
    std::vector<std::int64_t> ended;
    // Rank 2 is not connected to rank 1 unless they have exchanged something.
    if (plan.rank == 2) {
      std::this_thread::sleep_for(milliseconds(200));
      links.receive(1, {0, 1, sizeof number}, reinterpret_cast<std::byte*>(&number), {&ended});
    }
    while (true) links.progress(milliseconds(10));
  });
}

TEST_F(LinksDeath, ARankThatHasEndedIsNamed) {
  EXPECT_EXIT(lose_a_rank(false), testing::ExitedWithCode(70),
              "messages between ranks: the connection to rank 1 on n1 has failed: closed by it");
}

TEST_F(LinksDeath, ARankThatEndedBeforeItsFirstMessageIsNamed) {
  EXPECT_EXIT(lose_a_rank(true), testing::ExitedWithCode(70),
              "messages between ranks: the connection to rank 1 on n1 has failed: 127.0.0.1 port "
              "[0-9]+: Connection refused");
}

void receive_garbage() {
  on_plans(2, [](const MeetingPlan& plan) {
    auto met = meet(plan);
    ASSERT_TRUE(met);
    if (plan.rank == 1) {
      const std::string garbage(100, '\x7f');
      ::send(met->sockets[0].get(), garbage.data(), garbage.size(), 0);
      std::this_thread::sleep_for(std::chrono::seconds(60));
    }
    Links links(plan, *std::move(met));
    exchange_with_all(links, 0);
  });
}

TEST_F(LinksDeath, GarbageFromARankIsNamed) {
  EXPECT_EXIT(receive_garbage(), testing::ExitedWithCode(70),
              "the connection to rank 1 on n1 has failed: it sent a frame of unknown kind");
}

constexpr std::chrono::seconds short_patience{3};

/// Two ranks that exchange messages; then no packet passes any more.
void cut_the_cable() {
  const OwnNetwork network;
  std::latch exchanged(2);
  std::latch cut(2);
  on_plans(2, [&](const MeetingPlan& plan) {
    auto met = meet(plan);
    Links links(plan, *std::move(met), short_patience);
    exchange_with_all(links, 0);
    exchanged.arrive_and_wait();
    if (plan.rank == 1) network.take_down();
    cut.arrive_and_wait();
    exchange_with_all(links, 1);
  });
}

TEST_F(LinksDeath, ACableThatIsCutEndsTheRanksThatWaitForItsMessages) {
  if (!OwnNetwork::is_possible()) GTEST_SKIP() << "unavailable: a network namespace";
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_EXIT(cut_the_cable(), testing::ExitedWithCode(70),
              "the connection to rank [01] on n[01] has failed: no sign of its host for 3 s");
  EXPECT_GE(std::chrono::steady_clock::now() - begun, short_patience);
}

/// Rank 1's host reboots: its kernel knows nothing of the connection, over which nothing is sent.
/// Rank 0 waits for a message from it.
void forget_a_connection() {
  const OwnNetwork network;
  on_plans(2, [&](const MeetingPlan& plan) {
    auto met = meet(plan);
    if (plan.rank == 1) {
      const int on = 1;
      // Closed in this state, the socket says nothing to the other side.
      if (::setsockopt(met->sockets[0].get(), IPPROTO_TCP, TCP_REPAIR, &on, sizeof on) != 0) {
        std::abort();
      }
      met->sockets[0] = FileDescriptor();
      return;
    }
    Links links(plan, *std::move(met), short_patience);
    std::int64_t number = 0;
    std::vector<std::int64_t> ended;
    links.receive(1, {0, 1, sizeof number}, reinterpret_cast<std::byte*>(&number), {&ended});
    wait_for(links, ended, 1);
  });
}

TEST_F(LinksDeath, AHalfOpenConnectionIsNoticedByTheRankThatOnlyWaits) {
  if (!OwnNetwork::is_possible()) GTEST_SKIP() << "unavailable: a network namespace";
  EXPECT_EXIT(forget_a_connection(), testing::ExitedWithCode(70),
              "the connection to rank 1 on n1 has failed: Connection reset by peer");
}

}  // namespace
}  // namespace dllaunch
