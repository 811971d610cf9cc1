#include "launcher/accounting/allocated_time.hpp"

#include <gtest/gtest.h>

namespace dllaunch {
namespace {

constexpr std::string_view journal =
    R"({"time":110,"event":"preflight","job":"7","allocation":0,"seconds":8}
{"time":111,"event":"attempt","job":"7","allocation":0}
{"time":161,"event":"ended","job":"7","allocation":0}
{"time":162,"event":"decision","job":"7","allocation":0,"next":"requeue"}
{"time":1000,"event":"attempt","job":"7","allocation":1}
torn
{"time":1030,"event":"ended","job":"7","allocation":1}
)";

TEST(AllocatedTime, LeavesOutTheQueue) {
  EXPECT_EQ(allocated_seconds(journal, 100), 60 + 30) << "with the pre-flight";
}

TEST(AllocatedTime, LeavesOutEarlierRuns) {
  EXPECT_EQ(allocated_seconds(journal, 500), 30);
  EXPECT_EQ(allocated_seconds(journal, 2000), 0);
  EXPECT_EQ(allocated_seconds("", 0), 0);
  EXPECT_EQ(allocated_seconds(R"({"time":9e99})", 0), 0);
}

TEST(AllocatedTime, HeldAfterAnErrorIsUntilTheNextLine) {
  constexpr std::string_view held =
      R"({"time":100,"event":"decision","job":"7","allocation":0,"next":"hold","until":900}
{"time":130,"event":"retry","job":"7","allocation":0}
{"time":131,"event":"attempt","job":"7","allocation":0}
{"time":200,"event":"decision","job":"7","allocation":0,"next":"hold","until":210}
{"time":210,"event":"decision","job":"7","allocation":0,"next":"stop"}
{"time":300,"event":"decision","job":"8","allocation":0,"next":"hold","until":400}
{"time":999,"event":"attempt","job":"9","allocation":0}
)";
  EXPECT_EQ(held_time(held, 0).all, 30 + 10);
  EXPECT_EQ(held_time(held, 0).in_vain, 10);
  EXPECT_EQ(held_time(held, 150).all, 10);
}

/// Four nodes until one is lost, and after a requeue.
TEST(AllocatedTime, OfAnElasticJobCountsTheNodesThatItHad) {
  constexpr std::string_view elastic =
      R"({"time":100,"event":"preflight","job":"7","allocation":0,"seconds":10}
{"time":100,"event":"attempt","job":"7","allocation":0,"nodes":4,"held":4}
{"time":140,"event":"ended","job":"7","allocation":0,"cause":"lost_node"}
{"time":140,"event":"attempt","job":"7","allocation":0,"nodes":3,"held":3}
{"time":160,"event":"ended","job":"7","allocation":0}
{"time":500,"event":"attempt","job":"7","allocation":1,"nodes":2,"held":2}
{"time":510,"event":"ended","job":"7","allocation":1}
)";
  const double seconds = 50 + 20 + 10;
  EXPECT_EQ(allocated_seconds(elastic, 0), seconds);
  const double node_seconds = 50 * 4 + 20 * 3 + 10 * 2;
  EXPECT_NEAR(mean_nodes(elastic, 0, 4, seconds), node_seconds / seconds, 1e-9);
  EXPECT_NEAR(mean_nodes(elastic, 0, 4, seconds + 20), (node_seconds + 20 * 2) / (seconds + 20),
              1e-9)
      << "what goes on has as many as last";
  EXPECT_EQ(mean_nodes(journal, 0, 4, 90), 4) << "a job that is not elastic";
  EXPECT_EQ(mean_nodes("", 0, 4, 90), 4);
  EXPECT_EQ(mean_nodes("", 0, 4, 0), 4);
}

}  // namespace
}  // namespace dllaunch
