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
            "the budget of CPUs of the account is used up for this period "
            "(AssocGrpCPUMinutesLimit)");
  EXPECT_EQ(explain_reason("AssocMaxJobsLimit"),
            "the limit on running jobs of the account for you is reached (AssocMaxJobsLimit)");
  EXPECT_EQ(explain_reason("QOSMaxNodePerUserLimit"),
            "the limit on nodes of the QOS is reached (QOSMaxNodePerUserLimit)");
  EXPECT_EQ(explain_reason("QOSMinGRES"),
            "it asks for fewer GPUs and other devices than the QOS requires (QOSMinGRES)");
  EXPECT_EQ(explain_reason("QOSMaxWallDurationPerJobLimit"),
            "it asks for more time than a job may have, by the limit of the QOS "
            "(QOSMaxWallDurationPerJobLimit)");
  EXPECT_EQ(explain_reason("QOSGrpSomethingNew"),
            "a limit of the QOS is reached (QOSGrpSomethingNew)");
  EXPECT_EQ(explain_reason("MaxMemPerAccount"),
            "the limit on memory of the QOS is reached (MaxMemPerAccount)");
}

TEST(PendingReasons, ALimitSaysWhatItIsFor) {
  const auto said = [](const std::string& reason) {
    const auto text = explain_reason(reason);
    return text.substr(0, text.find(" ("));
  };
  EXPECT_EQ(said("QOSMaxCpuPerJobLimit"),
            "it asks for more CPUs than a job may have, by the limit of the QOS");
  EXPECT_EQ(said("QOSMaxCpuMinutesPerJobLimit"),
            "it asks for more CPUs x time than a job may have, by the limit of the QOS: a shorter "
            "time helps too");
  EXPECT_EQ(said("AssocMaxNodeMinutesPerJobLimit"),
            "it asks for more nodes x time than a job may have, by the limit of the account for "
            "you: a shorter time helps too");
  EXPECT_EQ(said("QOSMaxGRESMinutesPerJob"),
            "it asks for more GPUs and other devices x time than a job may have, by the limit of "
            "the QOS: a shorter time helps too");
  EXPECT_EQ(said("QOSUsageThreshold"),
            "the account has used more than its share, and its QOS wants it below");
  EXPECT_EQ(said("AssocMaxMemPerNode"),
            "it asks for more memory than a node may have, by the limit of the account for you");
  EXPECT_EQ(said("MaxGRESRunMinsPerUser"),
            "the running jobs hold all of the GPUs and other devices that the limit of the QOS "
            "gives at a time");
  EXPECT_EQ(said("QOSGrpWallLimit"), "the budget of time of the QOS is used up for this period");
  EXPECT_EQ(said("QOSMinMemory"), "it asks for less memory than the QOS requires");
  EXPECT_EQ(said("MaxUnknownPerAccount"), "a limit of the QOS is reached");
  EXPECT_EQ(said("AssociationTimeLimit"), "a limit of the account is reached");
  EXPECT_EQ(said("MaxSomethingNew"), "MaxSomethingNew");
}

/// Of Slurm 22.05 to 26.05, those that are not put together of a limit's parts.
TEST(PendingReasons, AllOfSlurmsAreKnown) {
  for (const auto* reason : {"AccountNotAllowed",
                             "AssociationJobLimit",
                             "AssociationResourceLimit",
                             "BadConstraints",
                             "BeginTime",
                             "BlockFreeAction",
                             "BlockMaxError",
                             "BurstBufferOperation",
                             "BurstBufferResources",
                             "BurstBufferStageIn",
                             "Cleaning",
                             "Constraints",
                             "DeadLine",
                             "Dependency",
                             "DependencyNeverSatisfied",
                             "FedJobLock",
                             "FrontEndDown",
                             "InactiveLimit",
                             "InvalidAccount",
                             "InvalidQOS",
                             "JobArrayTaskLimit",
                             "JobHeldAdmin",
                             "JobHeldUser",
                             "JobHoldMaxRequeue",
                             "JobLaunchFailure",
                             "Licenses",
                             "MaxMemPerLimit",
                             "MaxPoweredUpNodes",
                             "MpiPortsBusy",
                             "NodeDown",
                             "NonZeroExitCode",
                             "NvidiaImexChannels",
                             "OutOfMemory",
                             "PartitionConfig",
                             "PartitionDown",
                             "PartitionInactive",
                             "PartitionNodeLimit",
                             "PartitionTimeLimit",
                             "PowerNotAvail",
                             "PowerReserved",
                             "Priority",
                             "Prolog",
                             "QOSJobLimit",
                             "QOSNotAllowed",
                             "QOSResourceLimit",
                             "QOSTimeLimit",
                             "QOSUsageThreshold",
                             "RaisedSignal",
                             "ReqNodeNotAvail",
                             "Reservation",
                             "ReservationDeleted",
                             "ReservationInvalid",
                             "Resources",
                             "SchedDefer",
                             "SystemFailure",
                             "TimeLimit",
                             "AccountingPolicy"})
    EXPECT_NE(explain_reason(reason), reason);
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
