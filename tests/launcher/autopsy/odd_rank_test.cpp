#include "launcher/autopsy/odd_rank.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "launcher/autopsy/merge_stacks.hpp"
#include "tests/launcher/autopsy/sample_stacks.hpp"

namespace dllaunch {
namespace {

/// Four ranks, of which 0, 1 and 3 wait in all_reduce.
std::vector<OddRank> odd_beside(ProcessStacks second, std::vector<ProcessStacks> more = {}) {
  std::vector<ProcessStacks> processes;
  for (const int rank : {0, 1, 3}) processes.push_back(program_of(rank, in_all_reduce()));
  processes.push_back(std::move(second));
  for (ProcessStacks& each : more) processes.push_back(std::move(each));
  return merge_stacks(on_two_nodes(std::move(processes))).odd;
}

void expect_second(const std::vector<OddRank>& odd, const std::string& why,
                   const std::string& function) {
  ASSERT_EQ(odd.size(), 1u);
  EXPECT_EQ(odd[0].rank, 2);
  EXPECT_EQ(odd[0].host, "n0");
  EXPECT_EQ(odd[0].why, why);
  EXPECT_EQ(odd[0].frame.function, function);
}

TEST(OddRank, IsOutsideTheCollective) {
  expect_second(odd_beside(program_of(2, in_code())),
                "is outside the collective in which the others wait", "slow");
}

TEST(OddRank, IsNamedByWhatItsAuthorKnows) {
  expect_second(odd_beside(program_of(
                    2, {python_frame("<module>", "train.py"), python_frame("take", "train.py"),
                        python_frame("get", "queue.py"), python_frame("wait", "threading.py")})),
                "is outside the collective in which the others wait", "take");
  expect_second(odd_beside(program_of(
                    2, {},
                    {native_frame("main", "a.out"), native_frame("compute", "a.out"),
                     native_frame("nanosleep", "libc.so.6"), native_frame("?", "libc.so.6")})),
                "is outside the collective in which the others wait", "compute");
}

TEST(OddRank, IsInAnotherCollective) {
  expect_second(odd_beside(program_of(2, {python_frame("barrier", "distributed_c10d.py")})),
                "waits in another collective, barrier", "barrier");
}

TEST(OddRank, IsAloneInACollective) {
  std::vector<ProcessStacks> processes;
  for (const int rank : {0, 1, 3}) processes.push_back(program_of(rank, in_code()));
  processes.push_back(program_of(2, in_all_reduce()));
  expect_second(merge_stacks(on_two_nodes(std::move(processes))).odd,
                "waits in all_reduce, which the others have not begun", "all_reduce");
}

TEST(OddRank, IsStopped) {
  for (auto stack : {in_all_reduce(), in_code()}) {
    ProcessStacks second = program_of(2, stack);
    second.threads.front().state = "T";
    expect_second(odd_beside(second), "is stopped (by a signal or a debugger)",
                  stack.back().function);
  }
}

TEST(OddRank, IsOutOfMemorySoon) {
  ProcessStacks second = program_of(2, in_code());
  second.memory_limit_bytes = 8'000'000'000;
  second.memory_used_bytes = 7'700'000'000;
  const std::string outside = "is outside the collective in which the others wait";
  expect_second(odd_beside(second), outside, "slow");
  second.memory_used_bytes = 7'800'000'000;
  expect_second(odd_beside(second),
                outside +
                    ", and the memory limit of its cgroup is near: 7.8 of 8.0 GB are used by "
                    "all processes in it",
                "slow");
  second.memory_limit_bytes = 512'000'000'000;
  second.memory_used_bytes = 500'100'000'000;
  expect_second(odd_beside(second), outside, "slow");
}

TEST(OddRank, WaitsForItsDataLoader) {
  const Stack loading = {python_frame("<module>", "train.py"),
                         python_frame("_try_get_data", "dataloader.py", 1120),
                         python_frame("get", "queue.py")};
  const Stack idle = {python_frame("_worker_loop", "worker.py"), python_frame("get", "queues.py"),
                      python_frame("poll", "connection.py")};
  const Stack busy = {python_frame("_worker_loop", "worker.py"),
                      python_frame("read", "data.py", 7)};
  expect_second(odd_beside(program_of(2, loading)), "waits for its data loader", "_try_get_data");
  expect_second(
      odd_beside(program_of(2, loading),
                 {worker_of_rank(1, busy), worker_of_rank(2, idle), worker_of_rank(2, busy)}),
      "waits for its data loader, whose worker 6002 is in read (data.py:7)", "_try_get_data");
  ProcessStacks blocked = worker_of_rank(2, busy);
  blocked.threads.front().state = "D";
  EXPECT_TRUE(odd_beside(program_of(2, loading), {blocked})[0].why.ends_with(
      "read (data.py:7), blocked by a file system"));
  blocked.threads.front().state = "T";
  EXPECT_TRUE(odd_beside(program_of(2, loading), {blocked})[0].why.ends_with(", stopped"));
}

TEST(OddRank, IsBlockedInTheKernel) {
  ProcessStacks second = program_of(2, in_code());
  second.threads.front().state = "D";
  second.threads.front().kernel = "rpc_wait_bit_killable";
  expect_second(odd_beside(second),
                "is blocked in the kernel, as by a file system that does not answer "
                "(rpc_wait_bit_killable)",
                "slow");
}

TEST(OddRank, WaitsForTheGil) {
  expect_second(
      odd_beside(program_of(2, in_code(), {native_frame("main"), native_frame("take_gil")})),
      "waits for the GIL, which another of its threads keeps", "slow");
}

TEST(OddRank, IsDeadlockedBetweenTwoLocks) {
  const Stack locked = {native_frame("main"), native_frame("PyThread_acquire_lock_timed")};
  ProcessStacks second = program_of(2, in_code(), locked);
  second.threads.push_back({.id = 7, .frames = locked});
  second.python.push_back({python_frame("run", "threading.py"), python_frame("other", "train.py")});
  expect_second(odd_beside(second),
                "waits for a lock, as does another of its threads: a deadlock if each has the "
                "other's",
                "slow");
  // A queue's thread that waits for work is none.
  second.python.back().push_back(python_frame("wait", "threading.py"));
  expect_second(odd_beside(second), "is outside the collective in which the others wait", "slow");
}

TEST(OddRank, DoesSomethingElseWhereNobodyCommunicates) {
  std::vector<ProcessStacks> processes;
  for (const int rank : {0, 1, 3}) processes.push_back(program_of(rank, in_code()));
  processes.push_back(program_of(2, {python_frame("save", "train.py")}));
  expect_second(merge_stacks(on_two_nodes(std::move(processes))).odd,
                "does something else than the others", "save");
}

TEST(OddRank, IsNoneIfNoMostAgree) {
  std::vector<ProcessStacks> processes;
  for (int rank = 0; rank < 4; ++rank) {
    processes.push_back(program_of(rank, {python_frame("f", "train.py", rank)}));
  }
  EXPECT_TRUE(merge_stacks(on_two_nodes(std::move(processes))).odd.empty());
  EXPECT_TRUE(merge_stacks({}).odd.empty());
  std::vector<ProcessStacks> same;
  for (int rank = 0; rank < 4; ++rank) same.push_back(program_of(rank, in_all_reduce()));
  EXPECT_TRUE(merge_stacks(on_two_nodes(std::move(same))).odd.empty());
}

/// Not being read is no guilt.
TEST(OddRank, IsNotOneWhoseStackIsUnknown) {
  EXPECT_TRUE(odd_beside(program_of(2, {})).empty());
  std::vector<ProcessStacks> processes = {program_of(0, in_all_reduce()), program_of(1, in_code()),
                                          program_of(2, {}), program_of(3, {})};
  const auto odd = merge_stacks(on_two_nodes(std::move(processes))).odd;
  ASSERT_EQ(odd.size(), 1u);
  EXPECT_EQ(odd[0].rank, 1);
}

TEST(OddRank, KnowsCollectivesByTheirFrames) {
  const std::pair<Stack, const char*> known[] = {
      {{native_frame("main"), native_frame("PMPI_Allreduce"), native_frame("opal_progress")},
       "MPI_Allreduce"},
      {{native_frame("MPI_Barrier")}, "MPI_Barrier"},
      {{native_frame("ncclGroupEnd")}, "ncclGroupEnd"},
      {{native_frame("gloo::allreduce")}, "gloo::allreduce"},
      {{native_frame("c10d::Reducer::finalize_backward")}, "the reduction of gradients (DDP)"},
      {{native_frame("main"), native_frame("compute")}, ""},
      {{}, ""},
  };
  for (const auto& [stack, wanted] : known) {
    EXPECT_EQ(collective_of(program_of(0, {}, stack)), wanted);
  }
  EXPECT_EQ(collective_of(program_of(0, {python_frame("wrapper", "distributed_c10d.py"),
                                         python_frame("broadcast", "distributed_c10d.py")})),
            "broadcast");
  EXPECT_EQ(collective_of(program_of(0, {python_frame("block_until_ready", "array.py")})),
            "block_until_ready");
  EXPECT_EQ(collective_of(program_of(0, {python_frame("quick_execute", "execute.py")})),
            "a TensorFlow function (quick_execute)");
  EXPECT_EQ(collective_of(ProcessStacks{}), "");
}

TEST(OddRank, SaysWhyThereAreNoFrames) {
  ProcessStacks program = program_of(0, {});
  EXPECT_EQ(why_not(program), "its stack is not known");
  program.why_not = "no py-spy";
  EXPECT_EQ(why_not(program), "no py-spy");
  program.threads.front().why_not = "it has ended";
  EXPECT_EQ(why_not(program), "it has ended");
}

TEST(OddRank, FramesAreShort) {
  EXPECT_EQ(frame_text(python_frame("f", "a.py", 3)), "f (a.py:3)");
  EXPECT_EQ(frame_text(native_frame("f", "liba.so")), "f (liba.so)");
  EXPECT_EQ(frame_text({.function = "0x12"}), "0x12");
  EXPECT_EQ(frame_text({.function = "\x1b[31mf", .file = "a\n.so"}), "f (a\\n.so)");
  EXPECT_EQ(telling_frame({native_frame("?", "memfd:made-at-run-time")}), StackFrame{});
  EXPECT_EQ(frame_text({.function = std::string(500, 'x')}), std::string(120, 'x') + "...");
}

}  // namespace
}  // namespace dllaunch
