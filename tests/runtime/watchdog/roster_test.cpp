#include "runtime/watchdog/roster.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <mutex>

#include "tests/support/thread_ranks.hpp"

namespace dllaunch {
namespace {

TEST(Roster, RanksOfOneHostAreANodeAndShareTheirRecords) {
  run_as_threads(5, [](std::unique_ptr<Communicator> ranks) {
    const int rank = ranks->rank();
    // 0 and 3 on one host, 1, 2 and 4 on the other.
    const std::string host = rank % 3 == 0 ? "n1" : "n2";
    auto met = introduce(*ranks, host, static_cast<std::uint16_t>(1000 + rank));
    EXPECT_EQ(met.roster.nodes, (std::vector<std::vector<int>>{{0, 3}, {1, 2, 4}}));
    EXPECT_EQ(met.roster.rank, rank);
    for (int other = 0; other < 5; ++other) {
      const Member& member = met.roster.members[static_cast<std::size_t>(other)];
      EXPECT_EQ(member.port, 1000 + other);
      EXPECT_EQ(member.pid, ::getpid());
      EXPECT_EQ(member.host, other % 3 == 0 ? "n1" : "n2");
    }
    met.board.own().beacon.step.store(100 + rank);
    ranks->wait(ranks->barrier());
    const auto& neighbours = met.roster.neighbours();
    ASSERT_EQ(met.board.records().size(), neighbours.size());
    for (std::size_t i = 0; i < neighbours.size(); ++i) {
      EXPECT_EQ(met.board.records()[i]->beacon.step.load(), 100 + neighbours[i]);
    }
    ranks->wait(ranks->barrier());
  });
}

TEST(Roster, EveryRankHasTheSameTokenAndEveryJobAnother) {
  std::mutex mutex;
  std::vector<JobToken> tokens;
  for (int job = 0; job < 2; ++job) {
    run_as_threads(3, [&](std::unique_ptr<Communicator> ranks) {
      const auto met = introduce(*ranks, "n1", 1);
      const std::lock_guard<std::mutex> lock(mutex);
      tokens.push_back(met.roster.token);
    });
  }
  EXPECT_EQ(tokens[0], tokens[1]);
  EXPECT_EQ(tokens[0], tokens[2]);
  EXPECT_EQ(tokens[3], tokens[5]);
  EXPECT_NE(tokens[0], tokens[3]);
}

TEST(Roster, TextsFitTheirRecord) {
  const auto record = std::make_unique<RankRecord>();
  EXPECT_EQ(load_text(*record), "");
  store_text(*record, "poll < main");
  EXPECT_EQ(load_text(*record), "poll < main");
  store_text(*record, std::string(5000, 'x'));
  EXPECT_EQ(load_text(*record), std::string(511, 'x'));
}

}  // namespace
}  // namespace dllaunch
