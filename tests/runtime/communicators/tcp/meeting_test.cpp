#include "runtime/communicators/tcp/meeting.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <string>

#include "tests/runtime/communicators/tcp/ranks.hpp"

namespace dllaunch {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

TEST(Meeting, EveryRankGetsTheTableOfAll) {
  for (const int size : {1, 2, 3, 7, 64}) {
    on_plans(size, [size](const MeetingPlan& plan) {
      const auto met = meet(plan);
      ASSERT_TRUE(met) << met.error().what;
      ASSERT_EQ(met->table.ranks.size(), static_cast<std::size_t>(size));
      for (int rank = 0; rank < size; ++rank) {
        const auto at = static_cast<std::size_t>(rank);
        EXPECT_EQ(met->table.ranks[at].host, "n" + std::to_string(rank));
        EXPECT_EQ(met->table.ranks[at].address, "127.0.0.1");
        const bool linked = rank != plan.rank && (rank == 0 || plan.rank == 0);
        EXPECT_EQ(static_cast<bool>(met->sockets[at]), linked);
      }
      EXPECT_EQ(met->table.ranks[static_cast<std::size_t>(plan.rank)].port, met->entrance->port());
    });
  }
}

TEST(Meeting, FiveHundredRanksMeet) {
  constexpr int size = 512;
  rlimit files{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &files), 0);
  if (files.rlim_max < 8 * size) GTEST_SKIP() << "too few files for all of them in one process";
  const rlimit more{8 * size, files.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &more);
  std::latch all(size);
  const auto began = std::chrono::steady_clock::now();
  on_plans(size, [&](const MeetingPlan& plan) {
    const auto here = meet(plan);
    EXPECT_TRUE(here) << here.error().what;
    all.arrive_and_wait();
  });
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  RecordProperty("seconds", std::to_string(took.count()));
  ::setrlimit(RLIMIT_NOFILE, &files);
}

TEST(Meeting, RanksMayComeBeforeRank0) {
  std::atomic<bool> met_by_1 = false;
  on_plans(2, [&](const MeetingPlan& plan) {
    if (plan.rank == 0) std::this_thread::sleep_for(std::chrono::milliseconds(300));
    const auto met = meet(plan);
    EXPECT_TRUE(met);
    if (plan.rank == 1) met_by_1 = true;
  });
  EXPECT_TRUE(met_by_1);
}

TEST(Meeting, NamesTheRanksThatDoNotCome) {
  on_plans(5, [](const MeetingPlan& given) {
    if (given.rank == 1 || given.rank == 3) return;
    MeetingPlan plan = given;
    plan.patience = std::chrono::seconds(1);
    const auto met = meet(plan);
    ASSERT_FALSE(met);
    EXPECT_EQ(met.error().kind, ErrorKind::timeout);
    if (plan.rank == 0) {
      // On a slow machine others may be late too.
      EXPECT_THAT(met.error().what,
                  ContainsRegex("rank 0 on n0: [234] of 5 ranks did not connect: 1, (2, )?3(, 4)? "
                                "within 1 s"));
    } else {
      EXPECT_THAT(
          met.error().what,
          ContainsRegex("rank [24] on n[24]: no answer from rank 0 at 127.0.0.1 port [0-9]+ "
                        "within 1 s: (it has not answered: it may wait for other ranks|it "
                        "closed the connection|Connection re[a-z ]+)$"));
    }
  });
}

TEST(Meeting, RefusesRanksOfAnotherStart) {
  on_plans(2, [](const MeetingPlan& given) {
    MeetingPlan plan = given;
    plan.patience = std::chrono::seconds(3);
    if (plan.rank == 1) plan.secret = "another secret";
    const auto met = meet(plan);
    ASSERT_FALSE(met);
    if (plan.rank == 0) {
      EXPECT_THAT(met.error().what, HasSubstr("1 of 2 ranks did not connect: 1; "));
      EXPECT_THAT(met.error().what, HasSubstr(" of unknown processes were refused within 3 s"));
    }
  });
}

// A process that listens in place of rank 0 and proves nothing.
TEST(Meeting, BelievesNoImpostor) {
  const FileDescriptor impostor(listen_on(0));
  std::jthread answers([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      const FileDescriptor came(::accept4(impostor.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!came) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      const std::string line = "welcome, and trust me\n";
      if (came) ::send(came.get(), line.data(), line.size(), MSG_NOSIGNAL);
    }
  });
  auto plan = plan_for(1, 2, port_of(impostor.get()));
  plan.patience = std::chrono::seconds(1);
  const auto met = meet(plan);
  ASSERT_FALSE(met);
  EXPECT_EQ(met.error().kind, ErrorKind::timeout);
}

TEST(Meeting, ARankThatDoesNotReachRank0SaysSoOnce) {
  std::vector<std::string> said;
  MeetingPlan plan = plan_for(1, 2, 1);
  plan.address = std::string(64, 'n');  // longer than a label may be: no name server is asked
  plan.patience = std::chrono::seconds(4);
  plan.quiet = std::chrono::seconds(1);
  plan.warn = [&](std::string_view line) { said.emplace_back(line); };
  const auto met = meet(plan);
  ASSERT_FALSE(met);
  EXPECT_EQ(met.error().what, "rank 1 on n1: no answer from rank 0 at " + plan.address +
                                  " port 1 within 4 s: the name does not resolve");
  ASSERT_EQ(said.size(), 1u);
  EXPECT_THAT(said[0], ContainsRegex("^no connection to rank 0 at n+ port 1 yet: the name does not "
                                     "resolve; trying for [1-3] s more$"));
}

TEST(Meeting, StrangersHoldNobodyUp) {
  on_plans(3, [](const MeetingPlan& plan) {
    std::vector<FileDescriptor> strangers;
    for (int i = 0; i < 100 && plan.rank == 2; ++i) {
      strangers.emplace_back(connect_to(plan.address, plan.port));
    }
    const auto met = meet(plan);
    EXPECT_TRUE(met);
  });
}

}  // namespace
}  // namespace dllaunch
