#include "topology/discovery/own_affinity.hpp"

#include <thread>

#include <gtest/gtest.h>
#include <sched.h>

namespace dllaunch {
namespace {

TEST(OwnAffinity, MatchesTheKernel) {
  const auto set = own_affinity();
  ASSERT_FALSE(set.empty());
  cpu_set_t kernel;
  ASSERT_EQ(sched_getaffinity(0, sizeof kernel, &kernel), 0);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    EXPECT_EQ(set.contains(cpu), CPU_ISSET(static_cast<std::size_t>(cpu), &kernel) != 0);
}

TEST(OwnAffinity, FollowsABinding) {
  std::thread([] {  // so that the other tests keep their CPUs
    const int last = own_affinity().last();
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<std::size_t>(last), &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    EXPECT_EQ(own_affinity(), IdSet{last});
  })
      .join();
}

}  // namespace
}  // namespace dllaunch
