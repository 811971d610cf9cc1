#include "runtime/watchdog/stall_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace dllaunch {
namespace {

constexpr std::int64_t s = 1'000'000'000;

StallContext scene_of(int ranks) {
  StallContext scene;
  scene.verdict = {.wait = {.number = 1234},
                   .kind = CollectiveKind::all_reduce,
                   .bytes = 25'000'000,
                   .waited_ns = 61 * s,
                   .late = {}};
  for (int rank = 0; rank < ranks; ++rank) {
    RankState state;
    state.rank = rank;
    state.node = rank / 2;
    state.step = 812;
    state.phase = RankPhase::data;
    state.phase_age_ns = 63 * s;
    state.waiting_for = 1234;
    scene.ranks.push_back(state);
    scene.verdict.within.push_back(rank);
    scene.hosts.push_back("n" + std::to_string(rank / 2));
  }
  return scene;
}

TEST(StallText, NamesTheLateRankItsHostAndItsActivity) {
  auto scene = scene_of(8);
  scene.verdict.late = {{3, WhyLate::unresponsive},
                        {4, WhyLate::not_attending},
                        {5, WhyLate::not_arrived},
                        {6, WhyLate::silent},
                        {7, WhyLate::silent}};
  scene.doing = {{3, "stopped"}, {4, "sleep < f"}, {5, "poll < read_batch < main"}};
  EXPECT_EQ(
      stall_line(scene),
      "stall: all_reduce #1234 (25.0 MB) is 61 s late: no word from n3 (ranks 6-7); "
      "rank 3 on n1 is stopped (data for 63 s, step 812); "
      "rank 4 on n2 has begun it and does not wait for it (data for 63 s, step 812): sleep < f; "
      "rank 5 on n2 has not arrived (data for 63 s, step 812): poll < read_batch < main");
}

TEST(StallText, ShowsTheKernelsViewOfARankThatDoesNotAnswer) {
  auto scene = scene_of(2);
  scene.verdict.late = {{0, WhyLate::died}, {1, WhyLate::unresponsive}};
  scene.doing = {{1, "blocked in the kernel in read (folio_wait_bit)"}};
  EXPECT_EQ(
      stall_line(scene),
      "stall: all_reduce #1234 (25.0 MB) is 61 s late: rank 0 on n0 has died (data, step "
      "812); rank 1 on n0 does not answer (data for 63 s, step 812): blocked in the kernel in "
      "read (folio_wait_bit)");
}

TEST(StallText, NamesTheOddRankFirst) {
  auto scene = scene_of(4);
  scene.doing = {{0, "poll < wait"}, {1, "poll < wait"}, {2, "sleep < wait"}, {3, "poll < wait"}};
  EXPECT_EQ(
      stall_line(scene),
      "stall: all_reduce #1234 (25.0 MB) is 61 s late, with every rank in it: the "
      "communication makes no progress: rank 2 on n1: sleep < wait; ranks 0-1,3: poll < wait");
}

TEST(StallText, NamesTheRankStoppedInsideTheCollectiveFirst) {
  auto scene = scene_of(4);
  scene.doing = {{0, "poll < wait"}, {1, "poll < wait"}, {2, "poll < wait"}, {3, "stopped"}};
  EXPECT_EQ(stall_line(scene),
            "stall: all_reduce #1234 (25.0 MB) is 61 s late, with every rank in it: the "
            "communication makes no progress: rank 3 on n1 is stopped (data for 63 s, step 812); "
            "ranks 0-2: poll < wait");
}

TEST(StallText, OfAMessageNamesTheEndOfTheChain) {
  auto scene = scene_of(8);
  scene.verdict.wait = {.number = 9, .waiter = 0, .sender = 2};
  scene.verdict.late = {{2, WhyLate::busy}, {3, WhyLate::unresponsive, 1}};
  scene.ranks[2].phase = RankPhase::forward;
  scene.doing = {{2, "sleep < f"}, {3, "stopped"}};
  EXPECT_EQ(stall_line(scene),
            "stall: rank 0 has waited 61 s for rank 2: rank 2 on n1 has been in forward for 63 s, "
            "step 812: sleep < f; rank 3 on n1 holds up rank 1: it is stopped (data for 63 s, step "
            "812)");
  EXPECT_EQ(collective_text(scene.verdict), "message of rank 2 to rank 0");
  EXPECT_EQ(over_line(scene.verdict),
            "stall: rank 0 continued after it had waited 61 s for rank 2");
}

TEST(StallText, OfACircleNamesThePairs) {
  auto scene = scene_of(4);
  scene.verdict.wait = {.number = 9, .waiter = 0, .sender = 2};
  scene.verdict.within = {0, 2};
  scene.ranks[0].waiting_rank = 2;
  scene.ranks[2].waiting_rank = 0;
  scene.doing = {{0, "poll < f"}, {2, "poll < g"}};
  EXPECT_EQ(stall_line(scene),
            "stall: rank 0 has waited 61 s for rank 2, and they wait for each other: the "
            "communication makes no progress: rank 2 on n1: waits for rank 0: poll < g; rank 0 on "
            "n0: waits for rank 2: poll < f");
}

TEST(StallText, MissingDataNamesNoCollective) {
  auto scene = scene_of(1);
  scene.verdict = {.waited_ns = 61 * s, .late = {{0, WhyLate::no_batch}}};
  scene.doing = {{0, "read < next"}};
  EXPECT_EQ(stall_line(scene),
            "stall: no rank has had a batch of data for 61 s: rank 0 on n0 has not arrived (data "
            "for 63 s, step 812): read < next");
  EXPECT_EQ(over_line(scene.verdict), "stall: data is available again after 61 s");
}

TEST(StallText, EndsAndDeathsHaveTheirOwnLines) {
  const auto scene = scene_of(4);
  EXPECT_EQ(over_line(scene.verdict), "stall: all_reduce #1234 (25.0 MB) continued after 61 s");
  RankState state = scene.ranks[3];
  state.waiting_for = 0;
  state.phase = RankPhase::backward;
  EXPECT_EQ(death_line(state, "n1", "died of SIGKILL"),
            "rank 3 on n1 died of SIGKILL in backward, step 812");
}

TEST(StallText, StaysOneLineForAnyNumberOfLateRanks) {
  std::mt19937 random(3);
  for (const int ranks : {1, 9, 400, 8000}) {
    auto scene = scene_of(ranks);
    for (int rank = 0; rank < ranks; ++rank) {
      scene.verdict.late.push_back({rank, static_cast<WhyLate>(random() % 8)});
      std::string noise(2000, ' ');
      for (char& c : noise) c = static_cast<char>(random());
      scene.doing[rank] = noise;
    }
    const std::string line = stall_line(scene);
    EXPECT_LE(line.size(), 3600u);
    EXPECT_EQ(line.find_first_of("\n\r\x1b"), std::string::npos);
    EXPECT_LE(ranks_to_describe(scene.verdict).size(), 8u);
  }
}

TEST(StallText, NumbersHaveUnits) {
  EXPECT_EQ(seconds_text(1'040'000'000), "1.0 s");
  EXPECT_EQ(seconds_text(75 * s), "75 s");
  Verdict verdict{.wait = {.number = 1}, .kind = CollectiveKind::barrier};
  EXPECT_EQ(collective_text(verdict), "barrier #1");
  verdict.bytes = 40;
  EXPECT_EQ(collective_text(verdict), "barrier #1 (40 B)");
  verdict.wait.group = 1;
  verdict.members = {2, 3};
  EXPECT_EQ(collective_text(verdict), "barrier #1 (40 B) of ranks 2-3");
}

}  // namespace
}  // namespace dllaunch
