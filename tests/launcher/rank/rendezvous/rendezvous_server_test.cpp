#include "launcher/rank/rendezvous/rendezvous_server.hpp"
#include "tests/support/tier.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <iostream>
#include <thread>
#include <vector>

#include "launcher/rank/rendezvous/ask.hpp"
#include "launcher/rank/rendezvous/local_listener.hpp"
#include "launcher/rank/rendezvous/messages.hpp"
#include "support/network/proof.hpp"
#include "support/network/sockets.hpp"

namespace {

bool limits_are_hidden = false;

}  // namespace

/// In place of the C library's.
extern "C" int getrlimit(__rlimit_resource_t resource, rlimit* limit) noexcept {
  if (!limits_are_hidden)
    return prlimit(0, static_cast<__rlimit_resource>(resource), nullptr, limit);
  errno = EPERM;
  return -1;
}

namespace dllaunch {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;

Deadline after(std::chrono::milliseconds time) {
  return std::chrono::steady_clock::now() + time;
}

class RendezvousServerTest : public testing::Test {
 protected:
  std::string ask(int rank) {
    return ask_here(name_, 0, to_line(Question{.rank = rank}, name_), false, after(20s));
  }
  /// As a rank of another node does.
  std::string tell(int port, int rank, const std::string& worker) {
    return ask_with(secret_, port, {.rank = rank, .worker = worker});
  }
  std::string ask_with(const std::string& secret, int port, const Question& question) {
    return ask_servers({{"127.0.0.1", port}}, {name_, question, secret}, after(20s)).answer;
  }
  /// Any line.
  static std::string say(int port, const std::string& line) {
    return exchange(connect_to("127.0.0.1", port), line, after(20s));
  }
  /// What a rank would say, for tests that change it.
  std::string sealed(const Question& question) const {
    auto body = to_line(question, name_);
    body.pop_back();
    return seal(secret_, question_purpose, "", body);
  }
  RendezvousDuty duty(int askers) {
    return {.start_name = name_,
            .answer = "here\n",
            .askers = askers,
            .secret = secret_,
            .tell = [&](const std::string& sentence) { told_.push_back(sentence); }};
  }

  const std::string name_ = "desk-" + std::to_string(getpid());
  const std::string secret_ = new_secret();
  std::vector<std::string> told_;
};

TEST_F(RendezvousServerTest, AnswersUntilEveryoneHasAsked) {
  const auto server = RendezvousServer::open(name_, 0, {});
  ASSERT_TRUE(server) << server.error().what;
  EXPECT_EQ(server->port(), 0);
  std::vector<std::string> answers(3);
  std::vector<std::thread> ranks;
  for (int rank = 1; rank <= 3; ++rank) {
    ranks.emplace_back([&, rank] { answers[static_cast<std::size_t>(rank - 1)] = ask(rank); });
  }
  const auto served =
      server->serve({.start_name = name_, .answer = "here\n", .askers = 3}, after(20s));
  for (auto& rank : ranks) rank.join();
  EXPECT_TRUE(served);
  EXPECT_THAT(answers, testing::Each("here"));
}

// The name of a start is its job's number, and ports can be tried.
TEST_F(RendezvousServerTest, AStrangerWhoKnowsTheNameTakesNoPlace) {
  const auto server = RendezvousServer::open(name_, 0, {0});
  ASSERT_TRUE(server) << server.error().what;
  const int port = server->port();
  std::thread visitors([&] {
    EXPECT_EQ(say(port, to_line(Question{.rank = 2}, name_)), "");
    EXPECT_EQ(ask_with(new_secret(), port, {.rank = 2}), "");
    EXPECT_EQ(ask_with(secret_.substr(1), port, {.rank = 2}), "");
    EXPECT_EQ(ask_with(new_secret(), port, {.rank = 2, .worker = "evil:1"}), "");
    EXPECT_EQ(ask(1), "here") << "this node's ranks are known by their user";
    EXPECT_EQ(tell(port, 2, ""), "here");
  });
  const auto served = server->serve(duty(2), after(60s));
  visitors.join();
  EXPECT_TRUE(served) << served.error().what;
}

TEST_F(RendezvousServerTest, StrangersAreToldOnceAndCounted) {
  const auto server = RendezvousServer::open(name_, 0, {0});
  ASSERT_TRUE(server) << server.error().what;
  std::atomic<bool> came = false;
  auto watched = duty(1);
  watched.tell = [&](const std::string& sentence) {
    told_.push_back(sentence);
    came = true;
  };
  std::thread strangers([&] {
    for (int i = 0; i < 2; ++i) EXPECT_EQ(say(server->port(), "GET / HTTP/1.1\r\n\r\n"), "");
    EXPECT_TRUE(came) << "while it waits";
  });
  const auto served = server->serve(watched, after(5s));
  strangers.join();
  ASSERT_FALSE(served);
  EXPECT_THAT(served.error().what, EndsWith("; 2 connections of unknown processes were refused"));
  ASSERT_THAT(told_, ElementsAre(HasSubstr("asked for rank 0's address and was refused")));
  EXPECT_THAT(told_.front(), testing::ContainsRegex("refused \\((127.0.0.1|::1)\\)"));
}

TEST_F(RendezvousServerTest, ARankWithAnotherKeyIsToldAtOnceWithTheRemedy) {
  const auto server = RendezvousServer::open(name_, 0, {0});
  ASSERT_TRUE(server) << server.error().what;
  std::thread other([&] {
    for (int i = 0; i < 3; ++i) EXPECT_EQ(ask_with(new_secret(), server->port(), {.rank = 1}), "");
  });
  const auto served = server->serve(duty(1), after(5s));
  other.join();
  ASSERT_FALSE(served);
  EXPECT_THAT(told_,
              ElementsAre(AllOf(HasSubstr("rank 1 of this start"),
                                HasSubstr("home directories or DLLAUNCH_START_TOKEN that differ"),
                                HasSubstr("export DLLAUNCH_START_TOKEN="))));
  EXPECT_THAT(served.error().what, HasSubstr("; 3 of them knew the start's name, but not its key"));
  EXPECT_THAT(served.error().hint, HasSubstr("before srun: export DLLAUNCH_START_TOKEN="));
}

// A stranger that holds the first port hears the question, and could relay it for its answer.
TEST_F(RendezvousServerTest, AQuestionThatIsPassedOnOrRepeatedIsAStrangers) {
  const auto server = RendezvousServer::open(name_, 0, {0});
  ASSERT_TRUE(server) << server.error().what;
  const int port = server->port();
  std::thread visitors([&] {
    const auto to = [&](const std::string& host, int to_port) {
      return say(port, sealed({.rank = 2, .to = with_port(host, to_port), .nonce = new_nonce()}));
    };
    EXPECT_EQ(to("localhost", port + 1), "");
    EXPECT_EQ(to("n7", port), "");
    EXPECT_EQ(say(port, sealed({.rank = 2, .to = with_port("localhost", port)})), "");
    const auto once = sealed({.rank = 1, .to = with_port("localhost", port), .nonce = new_nonce()});
    EXPECT_THAT(say(port, once), EndsWith(" here"));
    EXPECT_EQ(say(port, once), "");
    EXPECT_EQ(tell(port, 2, ""), "here");
  });
  auto named = duty(2);
  named.called = {"n1", "localhost", "127.0.0.1"};
  const auto served = server->serve(named, after(60s));
  visitors.join();
  EXPECT_TRUE(served) << served.error().what;
}

// Connections that say nothing cost their owner nothing.
TEST_F(RendezvousServerTest, AFloodOfSilentVisitorsBlocksNoRank) {
  const auto server = RendezvousServer::open(name_, 0, {0});
  ASSERT_TRUE(server) << server.error().what;
  std::thread visitors([&] {
    std::vector<int> silent;
    for (int i = 0; i < 300; ++i) silent.push_back(connect_to("127.0.0.1", server->port()));
    char byte = 0;
    EXPECT_EQ(recv(silent.front(), &byte, 1, 0), 0) << "the oldest has to go";
    EXPECT_EQ(recv(silent.back(), &byte, 1, MSG_DONTWAIT), -1) << "the newest may still speak";
    EXPECT_EQ(tell(server->port(), 1, ""), "here");
    for (const int one : silent) close(one);
  });
  // The oldest is gone long before its time to speak is over.
  const auto began = std::chrono::steady_clock::now();
  const auto served = server->serve(duty(1), after(60s));
  visitors.join();
  EXPECT_TRUE(served) << served.error().what;
  EXPECT_LT(std::chrono::steady_clock::now() - began, 9s);
}

TEST_F(RendezvousServerTest, WhoHasAskedIsAnsweredHoweverManyCameAfterHim) {
  const auto server = RendezvousServer::open(name_, 0, {0});
  ASSERT_TRUE(server) << server.error().what;
  const int rank = connect_to("127.0.0.1", server->port());
  const auto question =
      sealed({.rank = 1, .to = with_port("localhost", server->port()), .nonce = new_nonce()});
  ASSERT_EQ(send(rank, question.data(), question.size(), 0), std::ssize(question));
  std::vector<int> silent;
  for (int i = 0; i < 300; ++i) silent.push_back(connect_to("127.0.0.1", server->port()));
  const auto served = server->serve(duty(1), after(60s));
  EXPECT_TRUE(served) << served.error().what;
  std::string answer(200, '\0');
  EXPECT_GT(recv(rank, answer.data(), answer.size(), MSG_DONTWAIT), 0);
  for (const int one : silent) close(one);
  close(rank);
}

// Its own process: what is lowered cannot be raised again.
TEST_F(RendezvousServerTest, WithoutFreeDescriptorsItServesAndDoesNotSpin) {
  const auto server = RendezvousServer::open(name_, 0, {0});
  ASSERT_TRUE(server) << server.error().what;
  const pid_t child = fork();
  if (child == 0) {
    int last = dup(0);
    for (int i = 0; i < 3; ++i) last = dup(0);
    const rlimit few{static_cast<rlim_t>(last) + 1, static_cast<rlim_t>(last) + 1};
    for (int i = 0; i < 3; ++i) close(last - i);
    _exit(setrlimit(RLIMIT_NOFILE, &few) == 0 && server->serve(duty(1), after(60s)) ? 0 : 1);
  }
  const auto began = std::chrono::steady_clock::now();
  std::vector<int> silent;
  for (int i = 0; i < 40; ++i) silent.push_back(connect_to("127.0.0.1", server->port()));
  std::this_thread::sleep_for(1s);
  EXPECT_EQ(tell(server->port(), 1, ""), "here");
  int status = -1;
  rusage used{};
  wait4(child, &status, 0, &used);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  EXPECT_EQ(status, 0);
  EXPECT_LT(took.count(), 9) << "before silent visitors have had their time";
  EXPECT_LT(static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6,
            took.count() / 2);
  for (const int one : silent) close(one);
}

// Nothing that can be turned away: it waits for better times.
TEST_F(RendezvousServerTest, WhereDescriptorsAreGoneForOtherThingsItRests) {
  const auto server = RendezvousServer::open(name_, 0, {0});
  ASSERT_TRUE(server) << server.error().what;
  const pid_t child = fork();
  if (child == 0) {
    const int next = dup(0);
    const rlimit none{static_cast<rlim_t>(next) + 1, static_cast<rlim_t>(next) + 1};
    _exit(setrlimit(RLIMIT_NOFILE, &none) == 0 && !server->serve(duty(1), after(2s)) ? 0 : 1);
  }
  const int waiting = connect_to("127.0.0.1", server->port());
  int status = -1;
  rusage used{};
  wait4(child, &status, 0, &used);
  EXPECT_EQ(status, 0);
  EXPECT_LT(used.ru_utime.tv_sec + used.ru_stime.tv_sec, 1);
  close(waiting);
}

// A sandbox may refuse the call. The rank's program is started with what the server leaves.
TEST_F(RendezvousServerTest, AnUnknownLimitOfOpenFilesIsLeftAsItIs) {
  const auto server = RendezvousServer::open(name_, 0, {});
  ASSERT_TRUE(server) << server.error().what;
  const pid_t child = fork();
  if (child == 0) {
    rlimit before{};
    rlimit after_it{};
    prlimit(0, RLIMIT_NOFILE, nullptr, &before);
    limits_are_hidden = true;
    const auto served = server->serve(duty(1), after(1ms));
    prlimit(0, RLIMIT_NOFILE, nullptr, &after_it);
    _exit(!served && before.rlim_cur == after_it.rlim_cur ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

// Not a rank twice, not a stranger, not a silent client.
TEST_F(RendezvousServerTest, CountsRanksNotVisits) {
  const auto server = RendezvousServer::open(name_, 0, {0});
  ASSERT_TRUE(server) << server.error().what;
  const int silent = connect_here(name_, 0, false);
  std::atomic<bool> all_but_one = false;
  std::thread visitors([&] {
    const auto there = [&](const std::string& words) { return say(server->port(), words); };
    EXPECT_EQ(ask(1), "here");
    EXPECT_EQ(ask(1), "here");
    EXPECT_EQ(there("GET / HTTP/1.1\r\n\r\n"), "");
    EXPECT_EQ(there(to_line(Question{.rank = 2}, "another start")), "");
    EXPECT_EQ(there(std::string(100'000, 'x') + "\n"), "");
    all_but_one = true;
    EXPECT_EQ(ask(2), "here");
  });
  const auto served =
      server->serve({.start_name = name_, .answer = "here\n", .askers = 2}, after(60s));
  EXPECT_TRUE(served);
  EXPECT_TRUE(all_but_one) << "it waited for the second rank";
  visitors.join();
  close(silent);
}

TEST_F(RendezvousServerTest, SaysHowManyDidNotCome) {
  const auto server = RendezvousServer::open(name_, 0, {});
  ASSERT_TRUE(server);
  const auto served =
      server->serve({.start_name = name_, .answer = "here\n", .askers = 2}, after(50ms));
  ASSERT_FALSE(served);
  EXPECT_EQ(served.error().kind, ErrorKind::timeout);
  EXPECT_EQ(served.error().what, "2 of the 2 ranks it waits for did not connect");
}

TEST_F(RendezvousServerTest, HandsOutTheTableWhenAllWorkersAreKnown) {
  const auto server = RendezvousServer::open(name_, 0, {0});
  ASSERT_TRUE(server) << server.error().what;
  std::vector<std::thread> ranks;
  std::vector<std::string> tables(2);
  for (int rank = 1; rank <= 2; ++rank) {
    ranks.emplace_back([&, rank] {
      EXPECT_EQ(ask(rank), "here");
      tables[static_cast<std::size_t>(rank - 1)] =
          tell(server->port(), rank, "n2:" + std::to_string(rank));
    });
  }
  const auto served = server->serve({.start_name = name_,
                                     .answer = "here\n",
                                     .askers = 2,
                                     .workers = {"n1:9", "", ""},
                                     .secret = secret_},
                                    after(20s));
  for (auto& rank : ranks) rank.join();
  ASSERT_TRUE(served) << served.error().what;
  EXPECT_THAT(*served, testing::ElementsAre("n1:9", "n2:1", "n2:2"));
  EXPECT_THAT(tables, testing::Each(R"(["n1:9","n2:1","n2:2"])"));
}

// As many nodes as the largest machines have: rank 0 must not be what a start waits for.
TEST_F(RendezvousServerTest, ThousandsOfNodesAreServedInSeconds) {
  const int nodes = !full_tier() ? 1000 : 9408;
  constexpr int threads = 8;
  const auto server = RendezvousServer::open(name_, 0, {0});
  ASSERT_TRUE(server) << server.error().what;
  std::vector<std::thread> visitors;
  for (int first = 0; first < threads; ++first) {
    visitors.emplace_back([&, first] {
      for (int rank = first; rank < nodes; rank += threads) {
        EXPECT_EQ(tell(server->port(), rank, ""), "here");
      }
    });
  }
  const auto began = std::chrono::steady_clock::now();
  const auto served = server->serve(duty(nodes), after(60s));
  const auto seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  for (auto& visitor : visitors) visitor.join();
  EXPECT_TRUE(served);
  std::cout << nodes << " nodes served in " << seconds << " s\n";
  EXPECT_LT(seconds, 30);
}

TEST_F(RendezvousServerTest, SaysHowManyWorkersAreMissing) {
  const auto server = RendezvousServer::open(name_, 0, {0});
  ASSERT_TRUE(server);
  const auto served = server->serve(
      {.start_name = name_, .answer = "here\n", .workers = {"n1:9", "", ""}}, after(50ms));
  ASSERT_FALSE(served);
  EXPECT_EQ(served.error().what, "2 of 3 workers did not send their address");
}

TEST_F(RendezvousServerTest, TakesTheNextPortWhereOneIsTaken) {
  const int other = listen_on(0);
  ASSERT_GE(other, 0);
  const auto server = RendezvousServer::open(name_, 0, {port_of(other), 0});
  ASSERT_TRUE(server) << server.error().what;
  EXPECT_NE(server->port(), port_of(other));
  EXPECT_FALSE(RendezvousServer::open(name_, 1, {port_of(other)}));
  EXPECT_FALSE(RendezvousServer::open(name_, 0, {})) << "this node has one";
  close(other);
}

}  // namespace
}  // namespace dllaunch
