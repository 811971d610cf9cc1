#include "launcher/slurm/allocation.hpp"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "support/network/sockets.hpp"
#include "tests/support/fake_system.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;

constexpr const char* running =
    "JobId=17 JobName=a\n   JobState=RUNNING Reason=None Dependency=(null)\n"
    "   Requeue=1 Restarts=1 BatchFlag=1\n"
    "   StartTime=2026-11-22T10:00:00 EndTime=2026-11-22T11:00:00 Deadline=N/A\n";

TEST(JobAllocation, IsReadFromTheBatchScriptsVariables) {
  FakeSystem system;
  EXPECT_EQ(read_allocation(system).job, "");
  system.variables = {{"SLURM_JOB_ID", "17"},
                      {"SLURM_RESTART_COUNT", "2"},
                      {"SLURM_JOB_NODELIST", "n[1-2]"},
                      {"SLURMD_NODENAME", "n1"},
                      {"SLURM_JOB_END_TIME", "1763805600"}};
  const auto allocation = read_allocation(system);
  EXPECT_EQ(allocation.job, "17");
  EXPECT_EQ(allocation.restarts, 2);
  EXPECT_EQ(allocation.nodes, "n[1-2]");
  EXPECT_EQ(allocation.host, "n1");
  EXPECT_EQ(allocation.end_s, 1763805600);
  EXPECT_TRUE(system.ran.empty()) << "Slurm is not asked";
}

TEST(JobAllocation, AnOlderSlurmIsAskedForTheEnd) {
  FakeSystem system;
  system.variables = {{"SLURM_JOB_ID", "17"}, {"SLURM_JOB_END_TIME", "soon"}};
  EXPECT_FALSE(read_allocation(system).end_s);
  system.answers["scontrol show job 17"] = {0, running, ""};
  EXPECT_TRUE(read_allocation(system).end_s);
}

/// An orphan of a dead slurmd must not take the job away from its successor.
TEST(JobAllocation, OnlyOurOwnStartIsPutBack) {
  FakeSystem system;
  system.answers["scontrol show job 17"] = {0, running, ""};
  system.answers["scontrol requeue 17"] = {0, "", ""};
  const auto refused = requeue(system, {.job = "17", .restarts = 0});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::bad_request);
  EXPECT_TRUE(requeue(system, {.job = "17", .restarts = 1}));
  system.answers["scontrol requeue 17"] = {1, "", "Requested operation is presently disabled\n"};
  const auto disabled = requeue(system, {.job = "17", .restarts = 1});
  ASSERT_FALSE(disabled);
  EXPECT_THAT(disabled.error().what, HasSubstr("presently disabled"));
}

TEST(JobAllocation, WhatSlurmAnswersToARequeue) {
  FakeSystem system;
  const JobAllocation ours{.job = "17", .restarts = 1};
  const auto kind = [&] {
    const auto done = requeue(system, ours);
    return done ? std::nullopt : std::optional(done.error().kind);
  };
  EXPECT_EQ(kind(), ErrorKind::timeout) << "the owner of the job is unknown";
  EXPECT_TRUE(std::none_of(system.ran.begin(), system.ran.end(),
                           [](const auto& argv) { return argv[1] == "requeue"; }));
  const auto state = [&](const std::string& word) {
    system.answers["scontrol show job 17"] = {
        0, "JobId=17 JobName=a\n   JobState=" + word + " Reason=None\n   Restarts=1\n", ""};
  };
  state("CANCELLED");
  system.answers["scontrol requeue 17"] = {0, "", ""};
  EXPECT_EQ(kind(), ErrorKind::bad_request) << "a person has ended it";
  state("RUNNING");
  EXPECT_EQ(kind(), std::nullopt);
  system.answers["scontrol requeue 17"] = {
      1, "", "slurm_requeue error: Unable to contact slurm controller (connect failure)\n"};
  EXPECT_EQ(kind(), ErrorKind::timeout);
  system.answers["scontrol requeue 17"] = {1, "", "Job has already finished\n"};
  EXPECT_EQ(kind(), ErrorKind::unavailable);
  state("COMPLETING");
  EXPECT_EQ(kind(), ErrorKind::bad_request) << "Slurm's turn";
}

/// It was among what Slurm ended of the job that it had put back.
TEST(JobAllocation, ARequeueThatWasKilledHasBeenHeard) {
  FakeSystem system;
  const JobAllocation ours{.job = "17", .restarts = 1};
  int asked = 0;
  system.respond =
      [&](const std::vector<std::string>& argv) -> std::optional<Result<CommandOutput>> {
    if (argv[1] == "requeue") return CommandOutput{143, "", ""};
    const bool back = ++asked == 3;
    return CommandOutput{0,
                         fmt::format("JobId=17 JobName=a\n   JobState={}\n   Restarts={}\n",
                                     back ? "PENDING" : "RUNNING", back ? 2 : 1),
                         ""};
  };
  EXPECT_TRUE(requeue(system, ours));
  EXPECT_EQ(asked, 3);
}

/// Put back while a node is in doubt, Slurm 22.05 would never start the job again.
TEST(JobAllocation, ANodeInDoubtIsWaitedFor) {
  FakeSystem system;
  const JobAllocation ours{.job = "17", .restarts = 1, .nodes = "n[1-2]"};
  system.answers["scontrol show job 17"] = {0, running, ""};
  system.answers["scontrol requeue 17"] = {0, "", ""};
  const auto n2_is = [&](const std::string& state) {
    system.answers["scontrol show node n[1-2]"] = {
        0, "NodeName=n1 State=ALLOCATED\n\nNodeName=n2 State=" + state + "\n", ""};
  };
  const auto asked = [&] {
    return std::count(system.ran.begin(), system.ran.end(),
                      std::vector<std::string>{"scontrol", "requeue", "17"});
  };
  n2_is("ALLOCATED*");
  const auto waits = requeue(system, ours);
  ASSERT_FALSE(waits);
  EXPECT_EQ(waits.error().kind, ErrorKind::timeout);
  EXPECT_THAT(waits.error().what, HasSubstr("node n2 does not answer"));
  EXPECT_EQ(asked(), 0);
  EXPECT_TRUE(requeue(system, ours, {.wait = false})) << "there is no more time";
  n2_is("DOWN*");
  EXPECT_TRUE(requeue(system, ours));
  n2_is("ALLOCATED");
  EXPECT_TRUE(requeue(system, ours));
  EXPECT_EQ(asked(), 3);
}

/// The last task's number is the array's own, which to scontrol means all of them.
TEST(JobAllocation, ATaskOfAnArrayIsNotTheArray) {
  FakeSystem system;
  system.variables = {{"SLURM_JOB_ID", "74"},
                      {"SLURM_ARRAY_JOB_ID", "74"},
                      {"SLURM_ARRAY_TASK_ID", "3"},
                      {"SLURM_JOB_END_TIME", "1763805600"}};
  const auto allocation = read_allocation(system);
  EXPECT_EQ(allocation.name, "74_3");
  system.answers["scontrol show job 74_3"] = {
      0,
      "JobId=77 ArrayJobId=74 ArrayTaskId=0 JobName=a\n   JobState=RUNNING\n   Restarts=4\n\n"
      "JobId=74 ArrayJobId=74 ArrayTaskId=3 JobName=a\n   JobState=RUNNING\n   Restarts=0\n",
      ""};
  system.answers["scontrol requeue 74_3"] = {0, "", ""};
  EXPECT_EQ(ask_of_job(system, allocation)->restarts, 0);
  EXPECT_TRUE(requeue(system, allocation));
}

TEST(JobAllocation, WhatItWasQueuedFor) {
  SlurmJob job;
  job.start = "2026-11-22T10:01:00";
  job.submit = "2026-11-22T10:00:00";
  const auto submitted = static_cast<double>(parse_slurm_time(job.submit).value_or(0));
  EXPECT_EQ(queue_seconds(job, 0), 60);
  EXPECT_EQ(queue_seconds(job, submitted + 20), 40) << "it ran until then";
  EXPECT_EQ(queue_seconds(job, submitted + 100), 0);
  EXPECT_FALSE(queue_seconds(SlurmJob{}, 0));
}

TEST(JobAllocation, ANodeThatIsDownIsNamed) {
  FakeSystem system;
  const JobAllocation allocation{.job = "17", .nodes = "n[1-2]"};
  EXPECT_FALSE(nodes_out_of_order(system, allocation)) << "no answer";
  const auto states = [&](const std::string& of_n2) {
    system.answers["scontrol show node n[1-2]"] = {
        0, "NodeName=n1 State=ALLOCATED\n\nNodeName=n2 State=" + of_n2 + "\n", ""};
    return nodes_out_of_order(system, allocation).value_or(NodesOutOfOrder{"unknown"}).names;
  };
  EXPECT_EQ(states("ALLOCATED"), "unknown") << "where its daemon listens";
  system.answers["scontrol show config"] = {0, "SlurmdPort = 6818\n", ""};
  EXPECT_EQ(states("ALLOCATED"), "");
  EXPECT_EQ(states("DRAINING"), "") << "it runs what it has to the end";
  EXPECT_EQ(states("DOWN+NOT_RESPONDING"), "n2");
  EXPECT_EQ(states("ALLOCATED*"), "n2");
  EXPECT_EQ(states("ALLOCATED*+DRAIN"), "n2");
  EXPECT_EQ(states("ALLOCATED+POWER_DOWN"), "") << "when its jobs are over";
  // Slurm knows nothing yet, and nobody listens at its port.
  const std::string nobody = "ALLOCATED NodeAddr=127.0.0.1 Port=1";
  EXPECT_EQ(states(nobody), "n2");
  EXPECT_TRUE(nodes_out_of_order(system, allocation)->refuse) << "that node is up";
  const int listener = listen_on(0);
  EXPECT_EQ(states("ALLOCATED* NodeAddr=127.0.0.1 Port=" + std::to_string(port_of(listener))), "")
      << "Slurm's messages to it go through a node that is away";
  close(listener);
  EXPECT_EQ(nodes_out_of_order(system, {.job = "17", .nodes = "n[1-2]", .host = "n2"})->names, "")
      << "this process runs there";
}

TEST(JobAllocation, WhileTheControllerIsSilentANodeIsFoundByItsAddressUnlessAllAreAway) {
  FakeSystem system;
  const int listener = listen_on(0);
  const auto node = [](int i, int port) {
    return fmt::format("NodeName=n{} State=ALLOCATED NodeAddr=127.0.0.1 Port={}\n\n", i, port);
  };
  const JobAllocation allocation{.job = "17", .nodes = "n[1-3]", .host = "n1"};
  const auto found = [&](int port_of_n3) {
    system.answers["scontrol show node n[1-3]"] = {0, node(1, 1) + node(2, 1) + node(3, port_of_n3),
                                                   ""};
    const auto daemons = daemons_of(system, allocation, std::chrono::seconds(1));
    EXPECT_EQ(daemons.size(), 3U);
    system.answers.clear();
    return nodes_out_of_order(system, allocation, std::chrono::seconds(1), daemons)
        .value_or(NodesOutOfOrder{"unknown"})
        .names;
  };
  EXPECT_EQ(found(port_of(listener)), "n2");
  close(listener);
  EXPECT_EQ(found(1), "unknown") << "this node may be the one that is cut off";
}

TEST(JobAllocation, WhatIsLeftOfItsNodes) {
  FakeSystem system;
  const JobAllocation ours{.job = "17", .restarts = 1, .nodes = "n[1-3]"};
  EXPECT_FALSE(nodes_left(system, ours)) << "no answer";
  const auto job = [&](const std::string& state, const std::string& rest) {
    system.answers["scontrol show job 17"] = {
        0, "JobId=17 JobName=a\n   JobState=" + state + "\n   " + rest + "\n", ""};
  };
  job("RUNNING", "Restarts=1\n   NodeList=n[1,3]");
  EXPECT_FALSE(nodes_left(system, ours)) << "no answer about the nodes";
  // Down, revived, and no more of this job; the other is silent.
  system.answers["scontrol show node n[1-3]"] = {
      0, "NodeName=n1 State=ALLOCATED*\n\nNodeName=n2 State=IDLE\n\nNodeName=n3 State=MIXED\n", ""};
  const auto left = nodes_left(system, ours);
  ASSERT_TRUE(left);
  EXPECT_EQ(left->there, std::vector<std::string>{"n3"});
  EXPECT_EQ(left->gone, (std::vector<std::string>{"n2", "n1"}));
  EXPECT_EQ(left->silent, std::vector<std::string>{"n1"}) << "nothing else is known of it";
  system.answers["scontrol show node n[1-3]"].out =
      "NodeName=n1 State=MIXED\n\nNodeName=n2 State=DOWN\n\n"
      "NodeName=n3 State=MIXED NodeAddr=127.0.0.1 Port=1\n";
  const auto silent = nodes_left(system, ours);
  ASSERT_TRUE(silent);
  EXPECT_EQ(silent->there, std::vector<std::string>{"n1"});
  EXPECT_EQ(silent->gone, (std::vector<std::string>{"n2", "n3"}));
  EXPECT_EQ(silent->silent, std::vector<std::string>{"n3"});
  job("COMPLETING", "Restarts=1\n   NodeList=n[1,3]");
  EXPECT_FALSE(nodes_left(system, ours));
  job("RUNNING", "Restarts=2\n   NodeList=n[1,3]");
  EXPECT_FALSE(nodes_left(system, ours)) << "another start of the job";
}

/// Slurm ends the job meanwhile, and with it what asks.
TEST(JobAllocation, NodesAreExcludedBesidesThoseThatWere) {
  FakeSystem system;
  system.answers["scontrol show job 17"] = {
      0, "JobId=17 JobName=a\n   JobState=PENDING\n   ReqNodeList=(null) ExcNodeList=n[7-8]\n", ""};
  int asked = 0;
  system.respond =
      [&](const std::vector<std::string>& argv) -> std::optional<Result<CommandOutput>> {
    if (argv[1] != "update") return std::nullopt;
    EXPECT_EQ(argv[2], "JobId=17");
    EXPECT_EQ(argv[3], "ExcNodeList=n[2,7-8]");
    if (++asked == 1) return CommandOutput{143, "", "Terminated\n"};
    return CommandOutput{0, "", ""};
  };
  EXPECT_TRUE(exclude_nodes(system, {.job = "17"}, {.fresh = "n2"}));
  EXPECT_EQ(asked, 2);
}

/// Four nodes are needed, and four can start jobs.
TEST(JobAllocation, AnUnfitNodeThatTheJobCannotDoWithoutIsNamed) {
  FakeSystem system;
  system.answers["scontrol show job 17"] = {
      0,
      "JobId=17 JobName=a\n   JobState=PENDING\n   Partition=gpu AllocNode:Sid=a:1\n"
      "   ReqNodeList=(null) ExcNodeList=(null)\n",
      ""};
  int asked = 0;
  int refused = 0;
  std::vector<std::string> lists;
  system.respond =
      [&](const std::vector<std::string>& argv) -> std::optional<Result<CommandOutput>> {
    if (argv[0] == "sinfo" && argv[3] == "--partition=gpu") {
      ++asked;
      return CommandOutput{0, "n1 idle\nn2 idle~\nn3 mixed\nn4 mixed-\nn5 down\n", ""};
    }
    if (argv[1] != "update") return std::nullopt;
    lists.push_back(argv[3]);
    return CommandOutput{refused++ < 2 ? 1 : 0, "", ""};
  };
  EXPECT_TRUE(exclude_nodes(system, {.job = "17"}, {.fresh = "n[1,5]", .needed = 4}));
  EXPECT_EQ(lists, std::vector<std::string>(3, "ExcNodeList=n5"));
  EXPECT_EQ(asked, 1) << "Slurm ends the job meanwhile";
  EXPECT_THAT(system.logged, HasSubstr("n1 not left out: the job needs 4 nodes"));
}

TEST(JobAllocation, AJobSubmittedInAComponentIsNone) {
  FakeSystem system;
  system.variables = {{"SLURM_JOB_ID", "12"},
                      {"SLURM_JOB_END_TIME", "5"},
                      {"DLLAUNCH_HET_GROUP", "1"},
                      {"SLURM_JOB_ID_HET_GROUP_0", "12"},
                      {"SLURM_JOB_ID_HET_GROUP_1", "13"}};
  EXPECT_EQ(read_allocation(system).job, "13");
  EXPECT_EQ(read_allocation(system).leader, "12");
  system.variables["SLURM_JOB_ID"] = "99";
  EXPECT_EQ(read_allocation(system).job, "99");
  EXPECT_EQ(read_allocation(system).group, "");
}

}  // namespace
}  // namespace dllaunch
