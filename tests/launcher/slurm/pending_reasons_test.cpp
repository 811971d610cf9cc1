#include "launcher/slurm/pending_reasons.hpp"

#include <gtest/gtest.h>

namespace dllaunch {
namespace {

TEST(PendingReasons, InWordsAndAsSlurmHasThem) {
  EXPECT_EQ(explain_reason("Priority"), "jobs with higher priority are ahead (Priority)");
  EXPECT_EQ(explain_reason("(Resources)"),
            "next in line, waiting for nodes to become free ((Resources))");
  EXPECT_EQ(explain_reason("ReqNodeNotAvail, UnavailableNodes:n2"),
            "nodes it needs are not available (ReqNodeNotAvail, UnavailableNodes:n2)");
  EXPECT_EQ(explain_reason("ReqNodeNotAvail,_UnavailableNodes:n2").rfind("nodes it needs", 0), 0U);
  EXPECT_EQ(explain_reason(""), "waiting for Slurm to consider it");
  EXPECT_EQ(explain_reason("None"), "waiting for Slurm to consider it");
  EXPECT_EQ(explain_reason("SomethingNew"), "SomethingNew");
  EXPECT_EQ(explain_reason("("), "(");
}

TEST(PendingReasons, LimitsArePutTogetherFromTheirParts) {
  EXPECT_EQ(explain_reason("AssocGrpGRES"),
            "the limit on GPUs and other devices of the account is reached (AssocGrpGRES)");
  EXPECT_EQ(explain_reason("AssocGrpCPUMinutesLimit"),
            "the CPUs of the account are used up for this period (AssocGrpCPUMinutesLimit)");
  EXPECT_EQ(explain_reason("AssocMaxJobsLimit"),
            "the limit on running jobs of the account for you is reached (AssocMaxJobsLimit)");
  EXPECT_EQ(explain_reason("QOSMaxNodePerUserLimit"),
            "the limit on nodes of the QOS is reached (QOSMaxNodePerUserLimit)");
  EXPECT_EQ(explain_reason("QOSMinGRES"),
            "it asks for fewer GPUs and other devices than the QOS requires (QOSMinGRES)");
  EXPECT_EQ(explain_reason("QOSMaxWallDurationPerJobLimit"),
            "the limit on a job's time of the QOS is exceeded (QOSMaxWallDurationPerJobLimit)");
  EXPECT_EQ(explain_reason("QOSGrpSomethingNew"),
            "a limit of the QOS is reached (QOSGrpSomethingNew)");
  EXPECT_EQ(explain_reason("MaxMemPerAccount"),
            "the limit on memory of the QOS is reached (MaxMemPerAccount)");
}

TEST(PendingReasons, AStartYearsAheadIsNone) {
  EXPECT_EQ(explain_waiting("Resources", ""), explain_reason("Resources"));
  EXPECT_EQ(explain_waiting("Priority", "2016-11-20T20:07:21"),
            "jobs with higher priority are ahead (Priority), expected to start "
            "2016-11-20T20:07:21");
  EXPECT_EQ(explain_waiting("Reservation", "2537-04-14T05:00:00"),
            "waiting for its reservation to begin (Reservation), Slurm cannot tell until when");
  const double now = 1'479'600'000;  // 2016-11-20
  EXPECT_TRUE(is_useful_start("2016-12-18T00:00:00", now));
  EXPECT_FALSE(is_useful_start("2016-12-23T00:00:00", now));
  EXPECT_TRUE(is_useful_start("soon", now));
}

}  // namespace
}  // namespace dllaunch
