#include "runtime/communicators/solo/solo.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace dllaunch {
namespace {

TEST(Solo, LeavesEveryBufferAsItIs) {
  auto opened = open_solo(RankEnv{});
  ASSERT_TRUE(opened);
  Communicator& solo = **opened;
  const std::vector<double> before = {1, -0.0, INFINITY, 5e-324};
  std::vector<double> x = before;
  solo.wait(solo.all_reduce(x.data(), x.size(), DType::f64, ReduceOp::sum));
  solo.wait(solo.reduce_scatter(x.data(), x.size(), DType::f64, ReduceOp::min));
  solo.wait(solo.all_gather(x.data(), x.size(), DType::f64));
  solo.wait(solo.broadcast(x.data(), x.size(), DType::f64, 0));
  solo.wait(solo.barrier());
  EXPECT_EQ(x, before);
  EXPECT_TRUE(std::signbit(x[1]));
}

TEST(Solo, StandsInForTheFirstOfSeveral) {
  const auto first = stand_in_for(3);
  EXPECT_EQ(first->size(), 3);
  EXPECT_EQ(first->rank(), 0);
}

TEST(Solo, RefusesSeveralRanks) {
  const auto opened = open_solo(RankEnv{.world_size = 4});
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().kind, ErrorKind::bad_request);
  EXPECT_EQ(opened.error().what, "communicator solo is for one rank only, this job has 4");
}

}  // namespace
}  // namespace dllaunch
