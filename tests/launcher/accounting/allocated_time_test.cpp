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

}  // namespace
}  // namespace dllaunch
