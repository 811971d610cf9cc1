#include "launcher/preflight/exchange.hpp"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <set>
#include <thread>

#include "support/isolated_call.hpp"
#include "support/json.hpp"
#include "support/network/proof.hpp"
#include "support/network/sockets.hpp"
#include "tests/launcher/rank/rendezvous/impostor.hpp"
#include "tests/support/network/no_descriptors.hpp"
#include "tests/support/other_process.hpp"

namespace dllaunch {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

std::string text_of_calls(const Result<std::vector<PeerCall>>& calls) {
  Json list = Json::array();
  if (!calls) return calls.error().what;
  for (const auto& call : *calls)
    list.push_back({{"host", call.host},
                    {"reached", call.reached},
                    {"why", call.why},
                    {"ahead", call.ahead_s},
                    {"speed", call.mb_per_s}});
  return list.dump();
}

/// A process each, as on nodes; all on this machine, under addresses of its own.
std::vector<Json> exchange_of(const std::vector<std::string>& hosts,
                              const std::vector<std::size_t>& who,
                              std::chrono::milliseconds patience) {
  const auto mark = "test." + std::to_string(getpid());
  std::vector<IsolatedCall> calls;
  for (const auto own : who) {
    const ExchangePlan plan{
        .mark = mark, .secret = "secret", .hosts = hosts, .own = own, .patience = patience};
    calls.push_back({.work = [plan]() -> Result<std::string> {
                       return text_of_calls(exchange_with_peers(plan));
                     },
                     .deadline = patience + 10s});
  }
  std::vector<Json> answers;
  for (const auto& text : isolated_calls(calls))
    answers.push_back(Json::parse(text ? *text : "null", nullptr, false));
  return answers;
}

TEST(Exchange, ReachesEveryPeer) {
  const std::vector<std::string> hosts = {"127.0.0.1", "127.0.0.2", "127.0.0.3"};
  const auto answers = exchange_of(hosts, {0, 1, 2}, 20s);
  for (const auto& answer : answers) {
    ASSERT_EQ(answer.size(), 2u) << answer;
    for (const auto& call : answer) {
      EXPECT_TRUE(call["reached"]) << call;
      EXPECT_LT(std::abs(call["ahead"].get<double>()), 5) << "one clock";
      EXPECT_GT(call["speed"], 0);
    }
  }
}

TEST(Exchange, TellsWhoIsNotThere) {
  const auto answers = exchange_of({"127.0.0.1", "127.0.0.2", "127.0.0.3"}, {0, 1}, 5s);
  for (const auto& answer : answers) {
    ASSERT_EQ(answer.size(), 2u) << answer;
    for (const auto& call : answer) EXPECT_EQ(call["reached"], call["host"] != "127.0.0.3") << call;
  }
  EXPECT_THAT(answers[0][1]["why"], HasSubstr("refused"));
}

/// A stranger that listens on a peer's ports is not taken for the peer.
TEST(Exchange, TakesNoAnswerFromStrangers) {
  const auto mark = "test." + std::to_string(getpid());
  std::vector<int> strangers;
  for (const int port : exchange_ports(mark, "127.0.0.2")) strangers.push_back(listen_on(port));
  const auto answers = exchange_of({"127.0.0.1", "127.0.0.2"}, {0}, 700ms);
  for (const int stranger : strangers) close(stranger);
  ASSERT_EQ(answers[0].size(), 1u) << answers[0];
  EXPECT_FALSE(answers[0][0]["reached"]);
}

/// The mark stands on the command line of every node, and the ports follow from it.
TEST(Exchange, AStrangerWhoKnowsTheMarkIsNotThePeer) {
  const auto prefix = fmt::format("dllaunch-preflight test.{} ", getpid());
  const auto ports = exchange_ports("test." + std::to_string(getpid()), "127.0.0.2");
  // A process each: what forks had better have no threads.
  const OtherProcess stranger(geteuid(), [&] {
    static int calls = 0;
    const auto answer = [prefix](const std::string& line) {
      // Bare, as it was before; proven with the wrong secret; proven, but to another question.
      const auto reply = prefix + "1.5 -";
      const int way = calls++ % 3;
      auto words = reply + "\n";
      if (way == 1) words = seal("other", "reply", "", reply);
      if (way == 2) words = seal("secret", "reply", line.substr(0, 32), reply);
      return words + "done\n";
    };
    static const Impostor impostor(ports[0], answer);
    return impostor.listens();
  });
  ASSERT_TRUE(stranger.ready());
  const auto answers = exchange_of({"127.0.0.1", "127.0.0.2"}, {0}, 1s);
  ASSERT_EQ(answers[0].size(), 1u) << answers[0];
  EXPECT_FALSE(answers[0][0]["reached"]);
}

/// A stranger is not accepted as a peer either, and while silent it blocks no peer.
TEST(Exchange, GuestsProveWhoTheyAre) {
  const auto mark = "test." + std::to_string(getpid());
  const auto ports = exchange_ports(mark, "127.0.0.1");
  const ExchangePlan plan{
      .mark = mark, .secret = "secret", .hosts = {"127.0.0.1", "127.0.0.2"}, .patience = 60s};
  const OtherProcess node(geteuid(), [&] {
    std::thread([plan] { EXPECT_TRUE(exchange_with_peers(plan)); }).detach();
    return true;
  });
  int there = -1;
  for (int i = 0; i < 1500 && there < 0; ++i) {
    there = connect_to("127.0.0.1", ports[0]);
    std::this_thread::sleep_for(10ms);
  }
  const auto soon = std::chrono::steady_clock::now() + 50s;
  const auto greeting = fmt::format("dllaunch-preflight {} 127.0.0.2\n", mark);
  EXPECT_EQ(exchange(there, greeting, soon), "");
  std::vector<int> silent;
  for (int i = 0; i < 70; ++i) silent.push_back(connect_to("127.0.0.1", ports[0]));
  const auto call =
      seal("secret", "call", "", fmt::format("dllaunch-preflight {} 0 127.0.0.2", mark));
  std::string answer;  // once the silent ones have had their time
  while (answer.empty() && std::chrono::steady_clock::now() < soon) {
    std::this_thread::sleep_for(100ms);
    answer = exchange(connect_to("127.0.0.1", ports[0]), call, soon);
  }
  EXPECT_NE(answer, "");
  for (const int one : silent) close(one);
}

TEST(Exchange, AProcessWithoutDescriptorsDoesNotSpin) {
  const auto mark = "test." + std::to_string(getpid());
  const ExchangePlan plan{
      .mark = mark, .secret = "secret", .hosts = {"127.0.0.1"}, .patience = 60s};
  const OtherProcess node(geteuid(), [&] {
    std::thread([plan] { EXPECT_TRUE(exchange_with_peers(plan)); }).detach();
    const int port = exchange_ports(mark, "127.0.0.1")[0];
    int there = -1;
    while ((there = connect_to("127.0.0.1", port)) < 0) std::this_thread::sleep_for(10ms);
    close(there);
    return cpu_seconds_without_descriptors(port) < spinning_s;
  });
  EXPECT_TRUE(node.ready());
}

TEST(Exchange, OccupiedPortsAreGoneAround) {
  const auto mark = "test." + std::to_string(getpid());
  const int taken = listen_on(exchange_ports(mark, "127.0.0.2").front());
  ASSERT_GE(taken, 0);
  const auto answers = exchange_of({"127.0.0.1", "127.0.0.2"}, {0, 1}, 8s);
  close(taken);
  for (const auto& answer : answers) EXPECT_TRUE(answer[0]["reached"]) << answer;
}

TEST(Exchange, PeersReachAcrossTheJob) {
  EXPECT_TRUE(peers_of(0, 1).empty());
  EXPECT_EQ(peers_of(0, 2), (std::vector<std::size_t>{1}));
  EXPECT_EQ(peers_of(2, 3), (std::vector<std::size_t>{0, 1}));
  EXPECT_EQ(peers_of(98, 100), (std::vector<std::size_t>{99, 0, 3}));
}

TEST(Exchange, PortsAreOrdinaryOnes) {
  std::set<int> seen;
  for (int i = 0; i < 200; ++i) {
    const auto ports = exchange_ports("7.1.abc", "n" + std::to_string(i));
    EXPECT_EQ(std::set<int>(ports.begin(), ports.end()).size(), 4u);
    for (const int port : ports) {
      EXPECT_GE(port, 20000);
      EXPECT_LT(port, 32000);
      seen.insert(port);
    }
  }
  EXPECT_GT(seen.size(), 700u);
}

}  // namespace
}  // namespace dllaunch
