#include "runtime/communicators/hierarchical/crowding.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <initializer_list>
#include <thread>
#include <vector>

namespace dllaunch {
namespace {

CpuWords cpus(std::initializer_list<int> ids) {
  CpuWords words = {};
  for (const int id : ids)
    words[static_cast<std::size_t>(id / 64)] |= std::int64_t(std::uint64_t{1} << (id % 64));
  return words;
}

TEST(Crowding, CountsTheRanksOnOnesOwnCpus) {
  const std::vector<CpuWords> one_each = {cpus({0}), cpus({1}), cpus({63}), cpus({64})};
  for (std::size_t rank = 0; rank < one_each.size(); ++rank)
    EXPECT_FALSE(is_crowded(one_each, rank)) << rank;
  // However many CPUs the node has.
  const std::vector<CpuWords> two_on_one = {cpus({5}), cpus({5}), cpus({6, 7, 8})};
  EXPECT_TRUE(is_crowded(two_on_one, 0));
  EXPECT_TRUE(is_crowded(two_on_one, 1));
  EXPECT_FALSE(is_crowded(two_on_one, 2));
  const std::vector<CpuWords> unbound(3, cpus({0, 1}));
  EXPECT_TRUE(is_crowded(unbound, 0));
  EXPECT_FALSE(is_crowded(std::vector<CpuWords>(2, cpus({0, 1})), 1));
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
      EXPECT_EQ(cpus_of_this_thread(), cpus({cpu}));
    }
  }).join();
}

}  // namespace
}  // namespace dllaunch
