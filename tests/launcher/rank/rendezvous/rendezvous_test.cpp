// Ranks as threads. Nodes are but numbers here; tests/end_to_end/slurm_frameworks_test.cpp has real
// ones.
#include "launcher/rank/rendezvous/rendezvous.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <set>
#include <thread>

#include "launcher/rank/rendezvous/ask.hpp"
#include "launcher/rank/rendezvous/messages.hpp"
#include "launcher/rank/rendezvous/start_name.hpp"
#include "support/network/proof.hpp"
#include "tests/launcher/rank/rendezvous/impostor.hpp"
#include "tests/support/other_process.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

using namespace std::chrono_literals;

struct Shape {
  int nodes = 1;
  int ranks_per_node = 1;
  bool nodes_known = true;
};

class RendezvousTest : public testing::Test {
 protected:
  RendezvousRequest request(const Shape& shape, int rank) const {
    const int local = rank % shape.ranks_per_node;
    return {.rank = {.rank = rank,
                     .world_size = shape.nodes * shape.ranks_per_node,
                     .local_rank = local,
                     .local_world_size = shape.ranks_per_node,
                     .node_rank = shape.nodes_known ? rank / shape.ranks_per_node : -1,
                     .nodes = shape.nodes_known ? shape.nodes : 0,
                     .launcher = "slurm"},
            .start_name = name_,
            .names = {"localhost"},
            .hosts = hosts_,
            .run_dir = run_dir_,
            .token = token_,
            .key_folder = keys_.path() + "/state",
            .workers = workers_,
            .patience = 30s};
  }

  /// All ranks at once, the last first.
  std::vector<Rendezvous> meet_all(const Shape& shape) {
    const int ranks = shape.nodes * shape.ranks_per_node;
    std::vector<Rendezvous> meetings(static_cast<std::size_t>(ranks));
    std::vector<std::thread> threads;
    for (int rank = ranks - 1; rank >= 0; --rank) {
      threads.emplace_back([&, rank] {
        auto met = join_rendezvous(request(shape, rank));
        EXPECT_TRUE(met) << "rank " << rank << ": " << met.error().what;
        if (met) meetings[static_cast<std::size_t>(rank)] = *std::move(met);
      });
    }
    for (auto& thread : threads) thread.join();
    return meetings;
  }

  static void expect_one_point(const std::vector<Rendezvous>& meetings) {
    EXPECT_GT(meetings.front().point.port, 0);
    for (const auto& rendezvous : meetings) {
      EXPECT_EQ(rendezvous.point.port, meetings.front().point.port);
      EXPECT_EQ(rendezvous.point.address, meetings.front().point.address);
      EXPECT_EQ(rendezvous.point.secret, meetings.front().point.secret);
    }
    EXPECT_EQ(meetings.front().point.secret.empty(), meetings.size() == 1);
  }

  std::string name_ = "slurm-" + std::to_string(getpid()) + ".0-r0";
  const TemporaryFolder keys_;
  std::string run_dir_;
  std::string token_;
  std::vector<std::string> hosts_ = {"localhost"};
  bool workers_ = false;
};

TEST_F(RendezvousTest, ALoneRankDoesNotWait) {
  const auto meetings = meet_all({});
  EXPECT_EQ(meetings[0].point.address, "localhost");
  EXPECT_GT(meetings[0].point.port, 0);
}

TEST_F(RendezvousTest, OnOneNodeItIsLocalhost) {
  const auto meetings = meet_all({.nodes = 1, .ranks_per_node = 5});
  expect_one_point(meetings);
  EXPECT_EQ(meetings[4].point.address, "localhost");
}

TEST_F(RendezvousTest, OnSeveralNodesOverTheRunDirectory) {
  const TemporaryFolder folder;
  run_dir_ = folder.path();
  expect_one_point(meet_all({.nodes = 3, .ranks_per_node = 2}));
  struct stat written {};
  EXPECT_EQ(stat((run_dir_ + "/.rendezvous/" + name_).c_str(), &written), 0);
}

TEST_F(RendezvousTest, OnSeveralNodesWithoutARunDirectory) {
  expect_one_point(meet_all({.nodes = 3, .ranks_per_node = 2}));
}

// `srun -m arbitrary`: rank 0 is where the host file says, the list of nodes is sorted.
TEST_F(RendezvousTest, WhereRank0IsNotOnTheFirstNode) {
  // The kernel itself refuses connections to these two, without a word on any network.
  hosts_ = {"255.255.255.255", "224.0.0.1", "localhost"};
  expect_one_point(meet_all({.nodes = 3, .ranks_per_node = 1}));
}

TEST_F(RendezvousTest, WhereMpirunDoesNotNumberTheNodes) {
  const TemporaryFolder folder;
  run_dir_ = folder.path();
  expect_one_point(meet_all({.nodes = 2, .ranks_per_node = 2, .nodes_known = false}));
}

// The same name, as after a reset of Slurm's counters: only what rank 0 says itself counts.
TEST_F(RendezvousTest, AStaleFileIsNotBelieved) {
  const TemporaryFolder folder;
  run_dir_ = folder.path();
  mkdir((run_dir_ + "/.rendezvous").c_str(), 0755);
  const RendezvousPoint stale{.address = "localhost", .port = 1, .server_port = 1};
  std::ofstream(run_dir_ + "/.rendezvous/" + name_) << to_line(stale, name_);
  const Shape shape{.nodes = 2, .ranks_per_node = 1};
  std::optional<Result<Rendezvous>> early;
  std::thread other([&] { early.emplace(join_rendezvous(request(shape, 1))); });
  std::this_thread::sleep_for(200ms);
  const auto led = join_rendezvous(request(shape, 0));
  other.join();
  ASSERT_TRUE(led) << led.error().what;
  ASSERT_TRUE(*early) << early->error().what;
  EXPECT_EQ((*early)->point.port, led->point.port);
}

// Who knows the port and the start's name, but not what only this user can read.
TEST_F(RendezvousTest, AStrangerAtTheDeskIsNoRank) {
  const TemporaryFolder folder;
  run_dir_ = folder.path();
  const Shape shape{.nodes = 2, .ranks_per_node = 1};
  std::optional<Result<Rendezvous>> led;
  std::thread leader([&] { led.emplace(join_rendezvous(request(shape, 0))); });
  const auto file = run_dir_ + "/.rendezvous/" + name_;
  struct stat info {};
  while (stat(file.c_str(), &info) != 0) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  std::string line;
  std::ifstream published(file);
  std::getline(published, line);
  const auto point = parse_rendezvous_point(line, name_);
  ASSERT_TRUE(point);
  EXPECT_EQ(point->secret.size(), 64u);
  for (int i = 0; i < 20; ++i) {
    const Inquiry inquiry{name_, Question{.rank = 1}, new_secret()};
    const auto soon = std::chrono::steady_clock::now() + 20s;
    EXPECT_EQ(ask_servers({{"localhost", point->server_port}}, inquiry, soon).answer, "");
  }
  const auto met = join_rendezvous(request(shape, 1));
  leader.join();
  ASSERT_TRUE(*led) << (*led).error().what;
  ASSERT_TRUE(met) << met.error().what;
  EXPECT_EQ(met->point.port, (*led)->point.port);
}

/// A server that says where a stranger wants the ranks to meet, as well as he can prove it.
std::unique_ptr<Impostor> foreign_desk(int port, const std::string& name) {
  return std::make_unique<Impostor>(port, [=](const std::string& line) {
    const auto evil = to_line({.address = "evil", .port = 29500, .server_port = port}, name);
    const auto question = parse_question(body_of(line.substr(0, line.find('\n'))), name);
    // Answers a request without a proof, as such servers do.
    if (!question) return evil;
    return seal(new_secret(), "answer", question->nonce, evil.substr(0, evil.size() - 1));
  });
}

// The ports follow from the number of the job.
TEST_F(RendezvousTest, AnImpostorOnTheFirstAgreedPortIsNotBelieved) {
  const auto ports = agreed_ports(name_);
  const auto impostor = foreign_desk(ports[0], name_);
  const auto second = foreign_desk(ports[1], name_);
  ASSERT_TRUE(impostor->listens() && second->listens());
  for (const bool with_token : {false, true}) {
    token_ = with_token ? "a token of the user" : "";
    const auto meetings = meet_all({.nodes = 3, .ranks_per_node = 2});
    expect_one_point(meetings);
    EXPECT_EQ(meetings[2].point.address, meetings[0].point.address);
    EXPECT_NE(meetings[2].point.address, "evil");
  }
  EXPECT_FALSE(impostor->heard().empty()) << "he was asked";
}

TEST_F(RendezvousTest, SilentStrangersOnManyPortsDelayNoRank) {
  std::vector<std::unique_ptr<Impostor>> silent;
  const auto ports = agreed_ports(name_);
  for (std::size_t i = 0; i < ports.size() / 2; ++i)
    silent.push_back(std::make_unique<Impostor>(ports[i]));
  expect_one_point(meet_all({.nodes = 2, .ranks_per_node = 1}));
}

// Homes that are not shared: both sides say why, rank 0 as soon as it sees it.
TEST_F(RendezvousTest, DifferentHomesAreSaidWithTheRemedy) {
  const TemporaryFolder other_home;
  const Shape shape{.nodes = 2, .ranks_per_node = 1};
  std::vector<std::string> told;
  std::atomic<bool> said = false;
  auto first = request(shape, 0);
  first.patience = 5s;
  first.tell = [&](const std::string& sentence) {
    told.push_back(sentence);
    said = true;
  };
  auto second = request(shape, 1);
  second.patience = 3s;
  second.key_folder = other_home.path();
  std::optional<Result<Rendezvous>> led;
  std::thread leader([&] { led.emplace(join_rendezvous(first)); });
  const auto followed = join_rendezvous(second);
  EXPECT_TRUE(said) << "before it gives up";
  leader.join();
  const auto remedy = testing::HasSubstr("before srun: export DLLAUNCH_START_TOKEN=");
  // Ranks of another start on this machine may have come to the same port before.
  EXPECT_THAT(told, testing::Contains(testing::AllOf(
                        testing::HasSubstr("home directories or DLLAUNCH_START_TOKEN that differ"),
                        remedy)));
  ASSERT_FALSE(*led);
  EXPECT_THAT((*led).error().what, testing::HasSubstr("knew the start's name, but not its key"));
  EXPECT_THAT((*led).error().hint, remedy);
  ASSERT_FALSE(followed);
  EXPECT_THAT(followed.error().what,
              testing::HasSubstr("home directories or DLLAUNCH_START_TOKEN that differ"));
  EXPECT_THAT(followed.error().hint, remedy);
}

TEST_F(RendezvousTest, ATokenStandsForAHome) {
  token_ = "1234567890123456";
  std::ofstream(keys_.path() + "/state") << "no folder can be made here";
  expect_one_point(meet_all({.nodes = 2, .ranks_per_node = 2}));
  token_.pop_back();
  const auto met = join_rendezvous(request({.nodes = 2, .ranks_per_node = 1}, 1));
  ASSERT_FALSE(met);
  EXPECT_EQ(met.error().what, "DLLAUNCH_START_TOKEN has 15 characters, which others can guess");
  token_.clear();
  const auto without = join_rendezvous(request({.nodes = 2, .ranks_per_node = 1}, 0));
  ASSERT_FALSE(without);
  EXPECT_EQ(without.error().kind, ErrorKind::bad_request);
  EXPECT_THAT(without.error().hint, testing::HasSubstr("DLLAUNCH_START_TOKEN"));
}

TEST_F(RendezvousTest, WithATokenNoSecretStandsInTheRunDirectory) {
  const TemporaryFolder folder;
  run_dir_ = folder.path();
  token_ = "a token of the user";
  expect_one_point(meet_all({.nodes = 2, .ranks_per_node = 2}));
  std::string line;
  std::ifstream published(run_dir_ + "/.rendezvous/" + name_);
  std::getline(published, line);
  EXPECT_TRUE(parse_rendezvous_point(line, name_)->secret.empty()) << line;
}

// One server serves the ranks of a node, whichever rank holds its name.
TEST_F(RendezvousTest, AnotherUserWithTheNameOfTheLocalListenerDoesNoHarm) {
  if (!can_be_others()) GTEST_SKIP() << "needs root";
  const auto name = "dllaunch-" + std::to_string(geteuid()) + "-0-" + name_;
  const OtherProcess squatter(other_user, [&] {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path + 1, name.data(), name.size());
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    const int made = socket(AF_UNIX, SOCK_STREAM, 0);
    return bind(made, reinterpret_cast<const sockaddr*>(&address), size) == 0 &&
           listen(made, 0) == 0;
  });
  ASSERT_TRUE(squatter.ready());
  expect_one_point(meet_all({.nodes = 1, .ranks_per_node = 4}));
}

TEST_F(RendezvousTest, ARunDirectoryThatOthersCanWriteIsRefused) {
  const TemporaryFolder folder;
  run_dir_ = folder.path();
  mkdir((run_dir_ + "/.rendezvous").c_str(), 0700);
  ASSERT_EQ(chmod((run_dir_ + "/.rendezvous").c_str(), 0777), 0);
  for (const int rank : {0, 1}) {
    const auto met = join_rendezvous(request({.nodes = 2, .ranks_per_node = 1}, rank));
    ASSERT_FALSE(met);
    EXPECT_THAT(met.error().what, testing::HasSubstr(".rendezvous can be written by others"));
  }
}

TEST_F(RendezvousTest, EveryWorkerHasAPortOfItsOwnAndAllKnowAll) {
  workers_ = true;
  for (const bool shared : {false, true}) {
    const TemporaryFolder folder;
    run_dir_ = shared ? folder.path() : "";
    const auto meetings = meet_all({.nodes = 2, .ranks_per_node = 3});
    expect_one_point(meetings);
    const auto& table = meetings.front().workers;
    EXPECT_EQ(std::set<std::string>(table.begin(), table.end()).size(), 6u);
    for (const auto& rendezvous : meetings) EXPECT_EQ(rendezvous.workers, table);
  }
  EXPECT_EQ(meet_all({.nodes = 1, .ranks_per_node = 2})[1].workers.size(), 2u);
}

TEST_F(RendezvousTest, WhoDoesNotComeIsNotWaitedForForEver) {
  const Shape shape{.nodes = 1, .ranks_per_node = 3};
  auto lead = request(shape, 0);
  lead.patience = 1s;
  const auto led = join_rendezvous(lead);
  ASSERT_FALSE(led);
  EXPECT_EQ(led.error().kind, ErrorKind::timeout);
  EXPECT_EQ(led.error().what,
            "rank 0 on localhost: 2 of the 2 ranks it waits for did not connect within 1 s");
  EXPECT_THAT(led.error().hint, testing::HasSubstr("--rendezvous-seconds 0"));

  auto follower = request(shape, 2);
  follower.patience = 1s;
  const auto followed = join_rendezvous(follower);
  ASSERT_FALSE(followed);
  EXPECT_EQ(followed.error().what,
            "rank 2 on localhost: the first rank of this node did not pass on rank 0's address "
            "within 1 s");
}

TEST_F(RendezvousTest, WithoutAnyWayToFindRank0ItSaysSo) {
  auto lost = request({.nodes = 2, .ranks_per_node = 1}, 1);
  lost.hosts.clear();
  const auto met = join_rendezvous(lost);
  ASSERT_FALSE(met);
  EXPECT_EQ(met.error().kind, ErrorKind::unavailable);
  EXPECT_THAT(met.error().hint, testing::HasSubstr("--run-dir"));
}

}  // namespace
}  // namespace dllaunch
