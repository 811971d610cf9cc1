#include "launcher/autopsy/gather_stacks.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "launcher/os/posix_system.hpp"
#include "launcher/slurm/node_survey.hpp"
#include "tests/launcher/autopsy/child_program.hpp"
#include "tests/launcher/autopsy/sample_stacks.hpp"
#include "tests/support/emulator.hpp"
#include "tests/support/fake_system.hpp"

namespace dllaunch {
namespace {

JobProcess rank_process(int pid, const std::string& job, int rank, const std::string& name) {
  JobProcess process{.pid = pid, .parent = 1, .name = name, .job = job};
  process.rank.rank = rank;
  return process;
}

TEST(GatherStacks, RanksAreThoseOfTheLargestStepButItsOwn) {
  const std::vector<JobProcess> processes = {rank_process(10, "step 5.0", 0, "python3"),
                                             rank_process(11, "step 5.0", 1, "python3"),
                                             rank_process(20, "step 5.1", 0, "dllaunch"),
                                             rank_process(30, "step 5.2", 0, "dllaunch"),
                                             rank_process(31, "step 5.2", 1, "x"),
                                             rank_process(32, "step 5.2", 2, "x"),
                                             rank_process(40, "", 0, "bash")};
  const auto programs = rank_programs(processes, 30);
  ASSERT_EQ(programs.size(), 2u);
  EXPECT_EQ(programs[0].pid, 10);
  EXPECT_EQ(programs[1].rank, 1);
  EXPECT_TRUE(rank_programs({}, 30).empty());
}

TEST(GatherStacks, RanksAreTorchrunsWorkers) {
  const std::vector<JobProcess> processes = {rank_process(10, "step 5.0", 0, "torchrun"),
                                             rank_process(11, "step 5.0", 1, "torchrun"),
                                             rank_process(12, "step 5.0", 2, "torchrun"),
                                             rank_process(20, "torchrun n0:29500 x", 4, "python3")};
  const auto programs = rank_programs(processes, 1);
  ASSERT_EQ(programs.size(), 1u);
  EXPECT_EQ(programs[0].rank, 4);
  EXPECT_EQ(programs[0].pid, 20);
}

TEST(GatherStacks, FramesOfOtherThreadsAreDroppedFirst) {
  NodeStacks node{.host = "n0"};
  node.processes = {program_of(0, in_code(), Stack(10, native_frame("f")))};
  node.processes.push_back(worker_of_rank(0, in_code()));
  node.processes[0].threads.push_back({.id = 2, .frames = Stack(10, native_frame("g"))});
  NodeStacks some = node;
  bound_frames(some, 20);
  EXPECT_EQ(some.processes[0].threads[0].frames.size(), 10u);
  EXPECT_TRUE(some.processes[0].threads[1].frames.empty());
  EXPECT_NE(some.processes[0].threads[1].why_not, "");
  EXPECT_EQ(some.processes[1].main_stack(), in_code());
  bound_frames(node, 0);
  EXPECT_EQ(node.processes[0].main_stack(), in_code());
  EXPECT_TRUE(node.processes[1].main_stack().empty());
}

/// The sum of what the nodes say, and the names of those that say nothing.
TEST(GatherStacks, MergesTheAnswersOfNodes) {
  FakeSystem system;
  system.programs = {"env", "srun"};
  system.respond = [](const std::vector<std::string>&) -> std::optional<Result<CommandOutput>> {
    NodeStacks node{.host = "n1"};
    node.processes = {program_of(1, in_all_reduce())};
    return CommandOutput{1, answer_lines("n1", write_fields(node)), "srun: error: n2: lost\n"};
  };
  const auto report = gather_stacks(system, {.run_dir = "/r", .job = "5", .hosts = {"n1", "n2"}});
  ASSERT_TRUE(report) << report.error().what;
  ASSERT_EQ(report->groups.size(), 1u);
  EXPECT_EQ(report->groups[0].collective, "all_reduce");
  ASSERT_EQ(report->unanswered.size(), 1u);
  EXPECT_EQ(report->unanswered[0].first, "n2");
  EXPECT_EQ(report->unanswered[0].second, "srun: error: n2: lost");
}

TEST(GatherStacks, WithoutAnyAnswerIsAnError) {
  FakeSystem system;
  system.programs = {"srun"};
  EXPECT_FALSE(gather_stacks(system, {.run_dir = "/r", .job = "5", .hosts = {"n1"}}));
}

TEST(GatherStacks, FindsTheRanksOfARunHere) {
  if (under_an_emulator()) GTEST_SKIP() << "qemu-user has no ptrace";
  const std::string run_dir = "/nowhere/run-" + std::to_string(getpid());
  const auto rank = [&](const char* number) {
    return program({"bash", "-c", "exec 2>/dev/null; echo ready; sleep 1000; true"},
                   {{"DLLAUNCH_RUN_DIR", run_dir},
                    {"OMPI_COMM_WORLD_RANK", number},
                    {"OMPI_COMM_WORLD_SIZE", "2"},
                    {"OMPI_COMM_WORLD_LOCAL_RANK", number},
                    {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}});
  };
  const ChildProgram first(rank("0"));
  const ChildProgram second(rank("1"));
  ASSERT_TRUE(first.ready() && second.ready());
  PosixSystem system{Console{}};
  const auto report = gather_stacks(system, {.run_dir = run_dir});
  ASSERT_TRUE(report) << report.error().what;
  IdSet ranks;
  for (const auto& group : report->groups) ranks |= group.ranks;
  EXPECT_EQ(to_list(ranks), "0-1") << render_stacks(*report);
  for (const auto& process : report->nodes.at(0).processes) kill(process.pid, SIGKILL);
}

}  // namespace
}  // namespace dllaunch
