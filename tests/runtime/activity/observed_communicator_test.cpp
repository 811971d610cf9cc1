// On 1, 2 and 3 real ranks.
#include "runtime/activity/observed_communicator.hpp"
#include "runtime/communicators/opening/communicators.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

namespace dllaunch {
namespace {

std::unique_ptr<Communicator> all_ranks(std::string_view name) {
  auto env = read_rank_env(process_environment());
  if (!env) throw std::runtime_error(env.error().what);
  auto opened = open_communicator(name, *env);
  if (!opened) throw std::runtime_error(opened.error().what);
  return *std::move(opened);
}

struct Counting final : ActivityListener {
  int collectives = 0;
  std::vector<std::uint64_t> numbers;
  void phase_ended(RankPhase, int, std::int64_t, std::int64_t) override {}
  void collective_ended(const EndedCollective& collective) override {
    numbers.push_back(collective.number);
    EXPECT_LE(collective.begin_ns, collective.end_ns);
    ++collectives;
  }
};

class Observed : public testing::TestWithParam<const char*> {};

TEST_P(Observed, NumbersWhatIsBegunAndEnded) {
  Activity activity;
  Counting counting;
  activity.tell(&counting);
  ObservedCommunicator communicator(all_ranks(GetParam()), activity);
  const auto ranks = static_cast<double>(communicator.size());
  const Beacon& beacon = activity.beacon();
  const Beacon::Collectives& world = beacon.in(CollectiveScope::world);

  std::vector<double> first(10, 1.0);
  std::vector<double> second(100000, 2.0);
  const Pending a = communicator.all_reduce(first.data(), first.size(), DType::f64, ReduceOp::sum);
  const Pending b =
      communicator.all_reduce(second.data(), second.size(), DType::f64, ReduceOp::sum);
  EXPECT_EQ(world.begun, 2u);
  communicator.wait(b);
  communicator.wait(a);
  EXPECT_EQ(world.ended, 2u);
  EXPECT_EQ(beacon.waiting_for, 0u);
  EXPECT_EQ(first[9], ranks);
  EXPECT_EQ(second[99999], 2 * ranks);

  // An empty operation has ended when it begins, and testing twice counts once.
  communicator.wait(communicator.all_reduce(nullptr, 0, DType::f32, ReduceOp::sum));
  const Pending barrier = communicator.barrier();
  while (!communicator.test(barrier)) {
  }
  EXPECT_TRUE(communicator.test(barrier));
  EXPECT_EQ(world.begun, 4u);
  EXPECT_EQ(world.ended, 4u);
  EXPECT_EQ(counting.collectives, 4);
  std::ranges::sort(counting.numbers);
  EXPECT_EQ(counting.numbers, (std::vector<std::uint64_t>{1, 2, 3, 4}));

  EXPECT_EQ(communicator.allocate(4096).size(), 4096u);
  EXPECT_EQ(world.ended, 5u);
}

TEST_P(Observed, NamesTheOneThatIsWaitedFor) {
  Activity activity;
  ObservedCommunicator communicator(all_ranks(GetParam()), activity);
  std::vector<float> data(communicator.size() * 3, 1.0F);
  communicator.wait(communicator.all_gather(data.data(), 3, DType::f32));
  EXPECT_EQ(activity.beacon().waiting_for, 0u);
  if (communicator.size() == 1) return;  // nothing to wait for
  EXPECT_EQ(activity.beacon().waiting_kind, CollectiveKind::all_gather);
  EXPECT_EQ(activity.beacon().waiting_bytes, data.size() * sizeof(float));
}

TEST_P(Observed, CollectivesOfAGroupHaveNumbersOfTheirOwn) {
  Activity activity;
  ObservedCommunicator all(all_ranks(GetParam()), activity);
  ObservedCommunicator group(*open_communicator("solo", RankEnv{}), activity,
                             CollectiveScope::group);
  const Beacon& beacon = activity.beacon();
  float value = 1;
  for (int i = 0; i <= all.rank(); ++i) {
    group.wait(group.all_reduce(&value, 1, DType::f32, ReduceOp::sum));
  }
  all.wait(all.barrier());
  EXPECT_EQ(beacon.in(CollectiveScope::world).begun, 1u);
  EXPECT_EQ(beacon.in(CollectiveScope::group).begun, static_cast<unsigned>(all.rank() + 1));
  EXPECT_EQ(beacon.in(CollectiveScope::group).ended, static_cast<unsigned>(all.rank() + 1));
}

INSTANTIATE_TEST_SUITE_P(Communicators, Observed, testing::Values("auto", "mpi"));

}  // namespace
}  // namespace dllaunch
