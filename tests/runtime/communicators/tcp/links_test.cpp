#include "runtime/communicators/tcp/links.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <latch>
#include <thread>
#include <utility>

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
  std::latch exchanged(2);
  std::latch looked(2);
  on_plans(2, [&](MeetingPlan plan) {
    plan.preferred = "127.0.0." + std::to_string(plan.rank + 8);
    plan.warn = [](std::string_view text) { ADD_FAILURE() << text; };
    auto met = meet(plan);
    if (!met) std::abort();
    EXPECT_FALSE(met->sockets[static_cast<std::size_t>(1 - plan.rank)]) << "of the meeting";
    Links links(plan, *std::move(met));
    exchange_with_all(links, 0);
    exchanged.arrive_and_wait();
    // A call that has crossed another may not have been put down yet.
    EXPECT_GE(connections_to("127.0.0.8") + connections_to("127.0.0.9"), 1u);
    looked.arrive_and_wait();
  });
}

TEST(Links, StayWhereTheyMetIfOneRankPrefersNothing) {
  on_plans(2, [&](MeetingPlan plan) {
    if (plan.rank == 1) plan.preferred = "127.0.0.9";
    auto met = meet(plan);
    if (!met) std::abort();
    EXPECT_TRUE(met->sockets[static_cast<std::size_t>(1 - plan.rank)]);
    Links links(plan, *std::move(met));
    exchange_with_all(links, 0);
  });
}

TEST(Links, LeaveAnAddressThatTwoNodesHave) {
  on_plans(3, [&](MeetingPlan plan) {
    plan.preferred = plan.rank == 2 ? "127.0.0.9" : "127.0.0.8";  // as of a bridge of containers
    const auto met = meet(plan);
    if (!met) std::abort();
    EXPECT_EQ(met->table.ranks[0].preferred, "");
    EXPECT_EQ(met->table.ranks[1].preferred, "");
    EXPECT_EQ(met->table.ranks[2].preferred, "127.0.0.9");
  });
}

int next_caller(int listener) {
  pollfd wait{listener, POLLIN, 0};
  ::poll(&wait, 1, 10'000);
  return ::accept(listener, nullptr, nullptr);
}

/// Passes on what either end sends, until one closes.
void pass_on(const FileDescriptor& caller, int port) {
  const FileDescriptor other(connect_to("127.0.0.1", port));
  std::array<pollfd, 2> ends = {{{caller.get(), POLLIN, 0}, {other.get(), POLLIN, 0}}};
  std::array<char, 4096> piece;
  while (::poll(ends.data(), 2, 10'000) > 0) {
    for (std::size_t from = 0; from < 2; ++from) {
      if (ends[from].revents == 0) continue;
      const ssize_t got = ::recv(ends[from].fd, piece.data(), piece.size(), 0);
      if (got <= 0) return;
      ::send(ends[1 - from].fd, piece.data(), static_cast<std::size_t>(got), MSG_NOSIGNAL);
    }
  }
}

/// As a proxy does that takes every call.
TEST(Links, LeaveAnAddressWhereAnotherProcessAnswers) {
  std::atomic<int> warnings = 0;
  on_plans(2, [&](MeetingPlan plan) {
    plan.preferred = "127.0.0." + std::to_string(plan.rank + 8);
    plan.warn = [&](std::string_view text) {
      ++warnings;
      EXPECT_EQ(text,
                "rank 1 on n1 cannot be reached at its network card's address: what answers closes "
                "the connection; its messages take the network over which the ranks met");
    };
    auto met = meet(plan);
    if (!met) std::abort();
    if (plan.rank == 1) {
      Links links(plan, *std::move(met));
      // A call of this rank would be taken, and end the matter.
      const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
      while (warnings == 0 && std::chrono::steady_clock::now() < end)
        links.progress(milliseconds(10));
      return exchange_with_all(links, 0);
    }
    // In the table of rank 0, rank 1 is where a stranger is. It passes on what comes last.
    const FileDescriptor listener(listen_on(0));
    const int port = std::exchange(met->table.ranks[1].port, port_of(listener.get()));
    std::jthread stranger([&] {
      for (int call = 0; call < 3; ++call) FileDescriptor(next_caller(listener.get()));
      pass_on(FileDescriptor(next_caller(listener.get())), port);
    });
    Links links(plan, *std::move(met));
    exchange_with_all(links, 0);
  });
  EXPECT_EQ(warnings, 1);
}

TEST(Links, ARankThatHasEndedInPeaceIsNotCalledAgain) {
  constexpr std::chrono::seconds patience{1};
  on_plans(2, [&](MeetingPlan plan) {
    plan.preferred = "127.0.0." + std::to_string(plan.rank + 8);
    auto met = meet(plan);
    if (!met) std::abort();
    Links links(plan, *std::move(met), Links::silence_patience, patience);
    for (std::uint64_t tag = 0; tag < 3; ++tag) exchange_with_all(links, tag);
    if (plan.rank == 1) return;
    const auto end = std::chrono::steady_clock::now() + patience + milliseconds(200);
    while (std::chrono::steady_clock::now() < end) links.progress(milliseconds(10));
  });
}

TEST(Links, LargeMessagesAreDealtToTheConnections) {
  constexpr int connections = 4;
  std::latch exchanged(2);
  on_plans(2, [&](MeetingPlan plan) {
    plan.connections = plan.rank == 0 ? connections : 1;
    auto met = meet(plan);
    if (!met) std::abort();
    Links links(plan, *std::move(met));
    EXPECT_EQ(links.connections(), connections) << "rank 0 says it";
    constexpr std::size_t bytes = Conversation::most_unasked_bytes + 1;
    constexpr std::uint64_t messages = 16;
    std::vector<std::vector<std::byte>> in(messages);
    std::vector<std::vector<std::byte>> out(messages);
    std::vector<std::int64_t> ended;
    for (std::uint64_t each = 0; each < messages; ++each) {
      const MessageName name{0, 2 * each, bytes};  // tags as the collectives between nodes have
      in[each].resize(bytes);
      out[each].assign(bytes, static_cast<std::byte>(each + 1));
      links.receive(1 - plan.rank, name, in[each].data(), {&ended});
      links.send(1 - plan.rank, name, out[each].data(), {&ended});
    }
    wait_for(links, ended, 2 * messages);
    EXPECT_TRUE(in == out);
    exchanged.arrive_and_wait();
    EXPECT_GE(connections_to("127.0.0.1"), 2u * connections) << "with both ends here";
    exchange_with_all(links, 1);
  });
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

/// Rank 1 ends, rank 2 still expects a message.
void lose_a_rank(bool before_its_call) {
  std::latch gone(1);
  on_plans(3, [&](const MeetingPlan& plan) {
    {
      auto met = meet(plan);
      if (!met) std::abort();
      Links links(plan, *std::move(met));
      if (!before_its_call) exchange_with_all(links, 0);
      std::int64_t number = 0;
      std::vector<std::int64_t> ended;
      // Rank 2 is not connected to rank 1 unless they have exchanged something.
      if (plan.rank == 2) {
        gone.wait();
        links.receive(1, {0, 1, sizeof number}, reinterpret_cast<std::byte*>(&number), {&ended});
      }
      while (plan.rank != 1) links.progress(milliseconds(10));
    }
    gone.count_down();
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

/// Packets to 198.51.100.1 to 3 leave this process's own network, and no answer comes.
bool make_a_silent_network() {
  return std::system(
             "exec 2>/dev/null; ip link add v0 type veth peer name v1 && ip link set v0 up && "
             "ip link set v1 up && ip address add 198.51.100.100/24 dev v0 && "
             "for n in 1 2 3; do ip neighbour add 198.51.100.$n lladdr 02:00:00:00:00:01 dev v0; "
             "done") == 0;
}

bool silent_networks_are_possible() {
  if (!OwnNetwork::is_possible()) return false;
  const pid_t child = ::fork();
  if (child == 0) {
    const OwnNetwork network;
    ::_exit(make_a_silent_network() ? 0 : 1);
  }
  int status = 1;
  return child > 0 && ::waitpid(child, &status, 0) == child && status == 0;
}

void prefer_a_silent_network() {
  const OwnNetwork network;
  if (!make_a_silent_network()) std::abort();
  std::atomic<int> warnings = 0;
  on_plans(3, [&](MeetingPlan plan) {
    plan.preferred = "198.51.100." + std::to_string(plan.rank + 1);
    plan.warn = [&](std::string_view text) {
      ++warnings;
      fmt::print(stderr, "{}\n", text);
    };
    auto met = meet(plan);
    if (!met) std::abort();
    Links links(plan, *std::move(met), Links::silence_patience, std::chrono::seconds(1));
    for (std::uint64_t tag = 0; tag < 3; ++tag) exchange_with_all(links, tag);
  });
  // Of each rank one, but for a rank that was called by the others meanwhile.
  std::_Exit(warnings >= 1 && warnings <= 3 && !testing::Test::HasFailure() ? 0 : 1);
}

TEST_F(LinksDeath, APreferredAddressThatDoesNotAnswerIsLeft) {
  if (!silent_networks_are_possible()) GTEST_SKIP() << "unavailable: a network namespace with veth";
  EXPECT_EXIT(prefer_a_silent_network(), testing::ExitedWithCode(0),
              "rank [012] on n[012] cannot be reached at its network card's address: no answer for "
              "1 s; its messages take the network over which the ranks met");
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
