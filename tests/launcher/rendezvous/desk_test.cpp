#include "launcher/rendezvous/desk.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <iostream>
#include <thread>
#include <vector>

#include "launcher/rendezvous/messages.hpp"
#include "launcher/rendezvous/sockets.hpp"

namespace dllaunch {
namespace {

using namespace std::chrono_literals;

Deadline after(std::chrono::milliseconds time) {
  return std::chrono::steady_clock::now() + time;
}

class DeskTest : public testing::Test {
 protected:
  std::string ask(int rank) {
    return ask_here(name_, 0, to_line(Question{.rank = rank}, name_), after(20s));
  }
  std::string tell(int port, int rank, const std::string& worker) {
    return ask_there("localhost", port, to_line(Question{.rank = rank, .worker = worker}, name_),
                     after(20s));
  }

  const std::string name_ = "desk-" + std::to_string(getpid());
};

TEST_F(DeskTest, AnswersUntilEveryoneHasAsked) {
  const auto desk = Desk::open(name_, 0, {});
  ASSERT_TRUE(desk) << desk.error().what;
  EXPECT_EQ(desk->port(), 0);
  std::vector<std::string> answers(3);
  std::vector<std::thread> ranks;
  for (int rank = 1; rank <= 3; ++rank) {
    ranks.emplace_back([&, rank] { answers[static_cast<std::size_t>(rank - 1)] = ask(rank); });
  }
  const auto served =
      desk->serve({.start_name = name_, .answer = "here\n", .askers = 3}, after(20s));
  for (auto& rank : ranks) rank.join();
  EXPECT_TRUE(served);
  EXPECT_THAT(answers, testing::Each("here"));
}

// The name of a start is its job's number, and ports can be tried.
TEST_F(DeskTest, AStrangerWhoKnowsTheNameTakesNoPlace) {
  const auto desk = Desk::open(name_, 0, {0});
  ASSERT_TRUE(desk) << desk.error().what;
  const auto secret = new_secret();
  const auto there = [&](int rank, const std::string& shown) {
    return ask_there("localhost", desk->port(),
                     to_line(Question{.rank = rank, .secret = shown}, name_), after(20s));
  };
  std::thread visitors([&] {
    EXPECT_EQ(there(2, ""), "");
    EXPECT_EQ(there(2, new_secret()), "");
    EXPECT_EQ(there(2, secret.substr(1)), "");
    EXPECT_EQ(tell(desk->port(), 2, "evil:1"), "");
    EXPECT_EQ(ask(1), "here") << "this node's ranks are known by their user";
    EXPECT_EQ(there(2, secret), "here");
  });
  const auto served = desk->serve(
      {.start_name = name_, .answer = "here\n", .askers = 2, .secret = secret}, after(60s));
  visitors.join();
  EXPECT_TRUE(served) << served.error().what;
}

TEST_F(DeskTest, StrangersAreCounted) {
  const auto desk = Desk::open(name_, 0, {0});
  ASSERT_TRUE(desk) << desk.error().what;
  std::thread stranger([&] { EXPECT_EQ(tell(desk->port(), 1, ""), ""); });
  const auto served = desk->serve(
      {.start_name = name_, .answer = "here\n", .askers = 1, .secret = new_secret()}, after(500ms));
  stranger.join();
  ASSERT_FALSE(served);
  EXPECT_THAT(served.error().what, testing::EndsWith("; 1 connection of strangers was refused"));
}

// Not the same rank twice, not a stranger, not somebody who says nothing.
TEST_F(DeskTest, CountsRanksNotVisits) {
  const auto desk = Desk::open(name_, 0, {0});
  ASSERT_TRUE(desk) << desk.error().what;
  const int silent = connect_here(name_, 0);
  std::atomic<bool> all_but_one = false;
  std::thread visitors([&] {
    const auto there = [&](const std::string& words) {
      return ask_there("localhost", desk->port(), words, after(20s));
    };
    EXPECT_EQ(ask(1), "here");
    EXPECT_EQ(ask(1), "here");
    EXPECT_EQ(there("GET / HTTP/1.1\r\n\r\n"), "");
    EXPECT_EQ(there(to_line(Question{.rank = 2}, "another start")), "");
    EXPECT_EQ(there(std::string(100'000, 'x') + "\n"), "");
    all_but_one = true;
    EXPECT_EQ(ask(2), "here");
  });
  const auto served =
      desk->serve({.start_name = name_, .answer = "here\n", .askers = 2}, after(60s));
  EXPECT_TRUE(served);
  EXPECT_TRUE(all_but_one) << "it waited for the second rank";
  visitors.join();
  close(silent);
}

TEST_F(DeskTest, SaysHowManyDidNotCome) {
  const auto desk = Desk::open(name_, 0, {});
  ASSERT_TRUE(desk);
  const auto served =
      desk->serve({.start_name = name_, .answer = "here\n", .askers = 2}, after(50ms));
  ASSERT_FALSE(served);
  EXPECT_EQ(served.error().kind, ErrorKind::timeout);
  EXPECT_EQ(served.error().what, "2 of the 2 it waits for did not come");
}

TEST_F(DeskTest, HandsOutTheTableWhenAllWorkersAreKnown) {
  const auto desk = Desk::open(name_, 0, {0});
  ASSERT_TRUE(desk) << desk.error().what;
  std::vector<std::thread> ranks;
  std::vector<std::string> tables(2);
  for (int rank = 1; rank <= 2; ++rank) {
    ranks.emplace_back([&, rank] {
      EXPECT_EQ(ask(rank), "here");
      tables[static_cast<std::size_t>(rank - 1)] =
          tell(desk->port(), rank, "n2:" + std::to_string(rank));
    });
  }
  const auto served = desk->serve(
      {.start_name = name_, .answer = "here\n", .askers = 2, .workers = {"n1:9", "", ""}},
      after(20s));
  for (auto& rank : ranks) rank.join();
  ASSERT_TRUE(served) << served.error().what;
  EXPECT_THAT(*served, testing::ElementsAre("n1:9", "n2:1", "n2:2"));
  EXPECT_THAT(tables, testing::Each(R"(["n1:9","n2:1","n2:2"])"));
}

// As many nodes as the largest machines have: rank 0 must not be what a start waits for.
TEST_F(DeskTest, ThousandsOfNodesAreServedInSeconds) {
  const int nodes = std::getenv("DLLAUNCH_TEST_FULL") == nullptr ? 1000 : 9408;
  constexpr int threads = 8;
  const auto desk = Desk::open(name_, 0, {0});
  ASSERT_TRUE(desk) << desk.error().what;
  std::vector<std::thread> visitors;
  for (int first = 0; first < threads; ++first) {
    visitors.emplace_back([&, first] {
      for (int rank = first; rank < nodes; rank += threads) {
        const std::string question = to_line(Question{.rank = rank}, name_);
        EXPECT_EQ(ask_there("localhost", desk->port(), question, after(60s)), "here");
      }
    });
  }
  const auto began = std::chrono::steady_clock::now();
  const auto served =
      desk->serve({.start_name = name_, .answer = "here\n", .askers = nodes}, after(60s));
  const auto seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  for (auto& visitor : visitors) visitor.join();
  EXPECT_TRUE(served);
  std::cout << nodes << " nodes served in " << seconds << " s\n";
  EXPECT_LT(seconds, 30);
}

TEST_F(DeskTest, SaysHowManyWorkersAreMissing) {
  const auto desk = Desk::open(name_, 0, {0});
  ASSERT_TRUE(desk);
  const auto served = desk->serve(
      {.start_name = name_, .answer = "here\n", .workers = {"n1:9", "", ""}}, after(50ms));
  ASSERT_FALSE(served);
  EXPECT_EQ(served.error().what, "2 of 3 workers did not say where they are");
}

TEST_F(DeskTest, TakesTheNextPortWhereOneIsTaken) {
  const int other = listen_on(0);
  ASSERT_GE(other, 0);
  const auto desk = Desk::open(name_, 0, {port_of(other), 0});
  ASSERT_TRUE(desk) << desk.error().what;
  EXPECT_NE(desk->port(), port_of(other));
  EXPECT_FALSE(Desk::open(name_, 1, {port_of(other)}));
  EXPECT_FALSE(Desk::open(name_, 0, {})) << "this node has one";
  close(other);
}

}  // namespace
}  // namespace dllaunch
