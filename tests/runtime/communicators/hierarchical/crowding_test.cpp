#include "runtime/communicators/hierarchical/crowding.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <initializer_list>
#include <thread>
#include <vector>

namespace dllaunch {
namespace {

UsableCpus cpus(std::initializer_list<int> ids) {
  UsableCpus usable;
  for (const int id : ids)
    usable.mask[static_cast<std::size_t>(id / 64)] |= std::int64_t(std::uint64_t{1} << (id % 64));
  return usable;
}

/// On eight CPUs.
UsableCpus with_quota(std::int64_t whole_cpus, std::int64_t group) {
  UsableCpus usable = cpus({0, 1, 2, 3, 4, 5, 6, 7});
  usable.quota = whole_cpus;
  usable.group = group;
  return usable;
}

TEST(Crowding, CountsTheRanksOnOnesOwnCpus) {
  const std::vector<UsableCpus> one_each = {cpus({0}), cpus({1}), cpus({63}), cpus({64})};
  for (std::size_t rank = 0; rank < one_each.size(); ++rank)
    EXPECT_FALSE(is_crowded(one_each, rank)) << rank;
  // However many CPUs the node has.
  const std::vector<UsableCpus> two_on_one = {cpus({5}), cpus({5}), cpus({6, 7, 8})};
  EXPECT_TRUE(is_crowded(two_on_one, 0));
  EXPECT_TRUE(is_crowded(two_on_one, 1));
  EXPECT_FALSE(is_crowded(two_on_one, 2));
  const std::vector<UsableCpus> unbound(3, cpus({0, 1}));
  EXPECT_TRUE(is_crowded(unbound, 0));
  EXPECT_FALSE(is_crowded(std::vector<UsableCpus>(2, cpus({0, 1})), 1));
}

TEST(Crowding, CountsTheRanksOnOnesOwnQuota) {
  EXPECT_FALSE(is_crowded(std::vector<UsableCpus>(2, with_quota(2, 7)), 0));
  EXPECT_TRUE(is_crowded(std::vector<UsableCpus>(3, with_quota(2, 7)), 0));
  EXPECT_TRUE(is_crowded(std::vector<UsableCpus>(1, with_quota(0, 7)), 0));  // half a CPU
  // Ranks of other groups have a quota of their own, or none.
  const std::vector<UsableCpus> apart = {with_quota(1, 7), with_quota(1, 8), with_quota(2, 9),
                                         with_quota(2, 9), cpus({0, 1, 2, 3, 4, 5})};
  for (std::size_t rank = 0; rank < apart.size(); ++rank)
    EXPECT_FALSE(is_crowded(apart, rank)) << rank;
}

TEST(Crowding, CpusAreThoseOfTheAffinity) {
  std::thread([] {
    cpu_set_t all;
    ASSERT_EQ(::sched_getaffinity(0, sizeof all, &all), 0);
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (!CPU_ISSET(cpu, &all)) continue;
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(cpu, &one);
      ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
      EXPECT_EQ(usable_cpus().mask, cpus({cpu}).mask);
    }
  }).join();
}

}  // namespace
}  // namespace dllaunch
