#include "runtime/activity/activity.hpp"

#include <gtest/gtest.h>

#include <atomic>

#include <chrono>
#include <thread>
#include <vector>

namespace dllaunch {
namespace {

struct Heard final : ActivityListener {
  struct Span {
    RankPhase phase;
    int micro_batch;
    std::int64_t begin_ns;
    std::int64_t end_ns;
  };
  std::vector<Span> spans;
  std::vector<std::uint64_t> bytes;
  void phase_ended(RankPhase phase, int micro_batch, std::int64_t begin_ns,
                   std::int64_t end_ns) override {
    spans.push_back({phase, micro_batch, begin_ns, end_ns});
  }
  void collective_ended(const EndedCollective& collective) override {
    bytes.push_back(collective.bytes);
  }
};

void sleep_ms(int ms) {
  std::this_thread::sleep_for(std::chrono::milliseconds(ms));
}

TEST(Activity, PhasesFollowEachOtherWithoutAGap) {
  Activity activity;
  Heard heard;
  activity.tell(&heard);
  activity.enter(RankPhase::data);
  activity.enter(RankPhase::forward);
  activity.enter(RankPhase::data);
  ASSERT_EQ(heard.spans.size(), 3u);
  EXPECT_EQ(heard.spans[0].phase, RankPhase::start);
  EXPECT_EQ(heard.spans[1].phase, RankPhase::data);
  EXPECT_EQ(heard.spans[2].phase, RankPhase::forward);
  EXPECT_EQ(heard.spans[0].end_ns, heard.spans[1].begin_ns);
  EXPECT_EQ(heard.spans[1].end_ns, heard.spans[2].begin_ns);
  EXPECT_EQ(activity.phase(), RankPhase::data);
}

TEST(Activity, APhaseIsOfTheMicroBatchWithWhichItWasEntered) {
  Activity activity;
  Heard heard;
  activity.tell(&heard);
  activity.enter(RankPhase::forward, 0);
  activity.enter(RankPhase::pipeline, 3);
  EXPECT_EQ(activity.micro_batch(), 3);
  activity.enter(RankPhase::update);
  activity.enter(RankPhase::between);
  ASSERT_EQ(heard.spans.size(), 4u);
  const std::vector<int> expected = {-1, 0, 3, -1};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(heard.spans[i].micro_batch, expected[i]) << i;
}

TEST(Activity, WaitsForCollectivesOfTwoScopesAndForRanks) {
  Activity activity;
  const Beacon& beacon = activity.beacon();
  EXPECT_EQ(activity.begin_collective(CollectiveScope::group), 1u);
  EXPECT_EQ(activity.begin_collective(CollectiveScope::group), 2u);
  EXPECT_EQ(activity.begin_collective(), 1u);
  EXPECT_EQ(beacon.in(CollectiveScope::group).begun, 2u);
  EXPECT_EQ(beacon.in(CollectiveScope::world).begun, 1u);
  activity.begin_wait(CollectiveScope::group, 2, CollectiveKind::all_reduce, 40);
  EXPECT_EQ(beacon.waiting_scope, CollectiveScope::group);
  EXPECT_EQ(beacon.waiting_rank, 0);
  activity.end_wait();
  for (const unsigned nth : {1U, 2U}) {
    activity.begin_wait_for(5);
    EXPECT_EQ(beacon.waiting_for, nth) << "each message is another wait";
    EXPECT_EQ(beacon.waiting_rank, 6);
    activity.end_wait();
    EXPECT_EQ(beacon.waiting_for, 0u);
  }
  activity.begin_wait(CollectiveScope::world, 1, CollectiveKind::barrier, 0);
  EXPECT_EQ(beacon.waiting_rank, 0);
}

TEST(Activity, SecondsIncludeTheCurrentPhaseAndStartAnew) {
  Activity activity;
  activity.take_seconds();
  activity.enter(RankPhase::data);
  sleep_ms(20);
  activity.enter(RankPhase::backward);
  sleep_ms(20);
  const auto first = activity.take_seconds();
  EXPECT_GE(first[static_cast<std::size_t>(RankPhase::data)], 0.02);
  EXPECT_GE(first[static_cast<std::size_t>(RankPhase::backward)], 0.02);
  sleep_ms(20);
  const auto second = activity.take_seconds();
  EXPECT_EQ(second[static_cast<std::size_t>(RankPhase::data)], 0);
  EXPECT_GE(second[static_cast<std::size_t>(RankPhase::backward)], 0.02);
}

TEST(Activity, ContinuesInAnotherBeacon) {
  Activity activity;
  activity.set_step(7);
  activity.enter(RankPhase::forward);
  EXPECT_EQ(activity.begin_collective(), 1u);
  Beacon shared = {};
  activity.publish_in(shared);
  EXPECT_EQ(shared.step, 7);
  EXPECT_EQ(shared.phase.load().phase, RankPhase::forward);
  EXPECT_EQ(shared.phase.load().since_ns, activity.beacon().phase.load().since_ns);
  EXPECT_EQ(shared.in(CollectiveScope::world).begun, 1u);
  EXPECT_EQ(activity.begin_collective(), 2u);
  activity.begin_wait(CollectiveScope::world, 2, CollectiveKind::all_reduce, 40);
  EXPECT_EQ(shared.waiting_for, 2u);
  EXPECT_EQ(shared.waiting_bytes, 40u);
  EXPECT_GT(shared.waiting_since_ns, 0);
  activity.end_wait();
  EXPECT_EQ(shared.waiting_for, 0u);
}

TEST(Activity, EveryPhaseHasAName) {
  for (std::size_t i = 0; i < phases; ++i) EXPECT_NE(to_string(static_cast<RankPhase>(i)), "");
}

TEST(AtomicPhase, HoldsEachPhaseAndTime) {
  AtomicPhase held = {};
  EXPECT_EQ(held.load().phase, RankPhase::start);
  EXPECT_EQ(held.load().since_ns, 0);
  for (std::size_t phase = 0; phase < phases; ++phase) {
    for (const std::int64_t since_ns :
         {std::int64_t{0}, std::int64_t{1}, (std::int64_t{1} << 59) - 1}) {
      held.store({.phase = static_cast<RankPhase>(phase), .since_ns = since_ns});
      EXPECT_EQ(held.load().phase, static_cast<RankPhase>(phase));
      EXPECT_EQ(held.load().since_ns, since_ns);
    }
  }
}

TEST(AtomicPhase, AReaderNeverPairsAPhaseWithTheAgeOfAnother) {
  AtomicPhase held = {};
  std::atomic<bool> go_on = true;
  std::thread writer([&] {
    for (std::int64_t now = 0; go_on; ++now)
      held.store({.phase = static_cast<RankPhase>(now % std::int64_t{phases}), .since_ns = now});
  });
  std::int64_t mixed = 0;
  for (int i = 0; i < 200'000; ++i) {
    const PhaseEntry seen = held.load();
    mixed += static_cast<std::int64_t>(seen.phase) != seen.since_ns % std::int64_t{phases};
  }
  go_on = false;
  writer.join();
  EXPECT_EQ(mixed, 0);
}

}  // namespace
}  // namespace dllaunch
