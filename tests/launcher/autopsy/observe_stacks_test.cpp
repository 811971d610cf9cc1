#include "launcher/autopsy/observe_stacks.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "launcher/autopsy/merge_stacks.hpp"
#include "launcher/autopsy/python_stacks.hpp"
#include "launcher/os/posix_system.hpp"
#include "support/file_text.hpp"
#include "support/isolated_call.hpp"
#include "tests/launcher/autopsy/child_program.hpp"
#include "tests/support/emulator.hpp"
#include "tests/support/other_process.hpp"
#include "tests/support/temporary_folder.hpp"
#include "topology/discovery/cgroup_paths.hpp"

namespace dllaunch {
namespace {

using namespace std::chrono_literals;

class ObserveStacks : public testing::Test {
 protected:
  void SetUp() override {
    if (under_an_emulator()) GTEST_SKIP() << "qemu-user has no ptrace";
  }
  NodeStacks observe(const std::vector<RankProgram>& ranks) {
    return observe_stacks(system_, ranks, 20s);
  }

  PosixSystem system_{Console{}};
};

TEST_F(ObserveStacks, OfAShellAndItsChild) {
  const ChildProgram shell(
      program({"bash", "-c", "exec 2>/dev/null; sleep 1000 & echo ready; wait"}));
  ASSERT_TRUE(shell.ready());
  const auto node = observe({{.rank = 4, .pid = shell.pid()}});
  EXPECT_EQ(node.host, system_.host_name());
  ASSERT_EQ(node.processes.size(), 2u);
  EXPECT_EQ(node.processes[0].parent, 0);
  EXPECT_EQ(node.processes[0].rank, 4);
  EXPECT_TRUE(node.processes[0].command.starts_with("bash")) << node.processes[0].command;
  EXPECT_EQ(node.processes[1].parent, shell.pid());
  EXPECT_EQ(node.processes[1].command, "sleep");
  EXPECT_GT(node.processes[0].resident_bytes, 0u);
  EXPECT_EQ(node.processes[0].main_state(), "S");
  EXPECT_EQ(node.processes[0].why_not, "");
  kill(node.processes[1].pid, SIGKILL);
}

TEST_F(ObserveStacks, OfProcessesThatHaveEndedAreNone) {
  ChildProgram child([](int) {});
  const int pid = child.pid();
  child.end();
  EXPECT_TRUE(observe({{.rank = 0, .pid = pid}}).processes.empty());
  EXPECT_TRUE(observe({}).processes.empty());
}

TEST_F(ObserveStacks, NeverReadAnotherUser) {
  if (!can_be_others()) GTEST_SKIP() << "only root has processes of another user";
  const OtherProcess other(other_user, [] { return true; });
  ASSERT_TRUE(other.ready());
  const ChildProgram child([](int ready) {
    if (write(ready, "r", 1) != 1) _exit(1);
    while (true) pause();
  });
  // As a child of the test, the other's process is found below this one.
  const auto node = observe({{.rank = 0, .pid = getpid()}});
  const auto is_ours = [&](const ProcessStacks& each) { return each.pid == child.pid(); };
  EXPECT_TRUE(std::ranges::any_of(node.processes, is_ours));
  for (const ProcessStacks& each : node.processes) {
    EXPECT_TRUE(each.pid == getpid() || each.pid == child.pid()) << each.command;
  }
  EXPECT_EQ(node.left_out, 1);
}

/// It runs: that its stacks are not read is no sign that there is none.
TEST_F(ObserveStacks, OfARankOfAnotherUserSayWhoseItIs) {
  if (!can_be_others()) GTEST_SKIP() << "only root has processes of another user";
  const OtherProcess other(other_user, [] { return true; });
  ASSERT_TRUE(other.ready());
  const auto node = observe({{.rank = 3, .pid = other.pid()}});
  ASSERT_EQ(node.processes.size(), 1u);
  EXPECT_EQ(node.processes[0].rank, 3);
  EXPECT_EQ(node.processes[0].why_not,
            "its stacks cannot be read: process " + std::to_string(other.pid()) + " is uid 65533's")
      << "a user without a name";
  EXPECT_TRUE(node.processes[0].threads[0].frames.empty());
}

/// As one that has file capabilities, or whose file its user may execute and not read.
TEST_F(ObserveStacks, OfARankThatLetsNobodyReadItSaySo) {
  if (!can_be_others()) GTEST_SKIP() << "only root can become another user";
  const OtherProcess rank(other_user, [] { return prctl(PR_SET_DUMPABLE, 0) == 0; });
  ASSERT_TRUE(rank.ready());
  const auto text = isolated_calls({{.work = [&]() -> Result<std::string> {
                                       if (setgid(other_user) != 0 || setuid(other_user) != 0)
                                         return std::string("cannot become another");
                                       const auto node = observe({{.rank = 0, .pid = rank.pid()}});
                                       return node.processes.empty() ? std::string("nothing")
                                                                     : node.processes[0].why_not;
                                     },
                                     .deadline = 30s}});
  ASSERT_TRUE(text.front());
  EXPECT_EQ(*text.front(), "its stacks cannot be read: process " + std::to_string(rank.pid()) +
                               " is root's to read: it has changed its user, or its file may not "
                               "be read");
}

TEST_F(ObserveStacks, FindTheStoppedOneOfPythons) {
  if (std::system("python3 -c 'import os; os.memfd_create' 2>/dev/null") != 0)
    GTEST_SKIP() << "no python3";
  const TemporaryFolder folder;
  std::ofstream(folder.path() + "/sitecustomize.py") << python_start_file();
  const auto python = program({"python3", "-uc",
                               "import time\ndef all_of_them():\n  print('ready')\n"
                               "  time.sleep(1000)\nall_of_them()"},
                              {{"PYTHONPATH", folder.path()}});
  const ChildProgram first(python);
  const ChildProgram second(python);
  const ChildProgram third(python);
  ASSERT_TRUE(first.ready() && second.ready() && third.ready());
  second.stop();
  const auto node = observe({{0, first.pid()}, {1, second.pid()}, {2, third.pid()}});
  const auto report = merge_stacks({node});
  ASSERT_EQ(report.odd.size(), 1u) << render_stacks(report);
  EXPECT_EQ(report.odd[0].rank, 1);
  EXPECT_EQ(report.odd[0].why, "is stopped (by a signal or a debugger)");
  EXPECT_EQ(node.processes.at(0).main_stack().back().function, "all_of_them");
}

/// 32 are read at once.
TEST_F(ObserveStacks, OfAnEarlierOneThatHoldsTheReaderUpTakeNoTimeFromTheLast) {
  if (std::system("python3 -c 'import os; os.memfd_create' 2>/dev/null") != 0)
    GTEST_SKIP() << "no python3";
  const TemporaryFolder folder;
  std::ofstream(folder.path() + "/sitecustomize.py") << python_start_file();
  const auto python = [&](const std::string& first) {
    return program(
        {"python3", "-uc", "import signal, time\n" + first + "\nprint('ready')\ntime.sleep(1000)"},
        {{"PYTHONPATH", folder.path()}});
  };
  const ChildProgram deaf(
      python(fmt::format("signal.pthread_sigmask(signal.SIG_BLOCK, [{}])", autopsy_signal())));
  const ChildProgram sleeps(program({"bash", "-c", "echo ready; exec sleep 1000"}));
  const ChildProgram last(python(""));
  ASSERT_TRUE(deaf.ready() && sleeps.ready() && last.ready());
  std::vector<RankProgram> ranks = {{0, deaf.pid()}};
  while (ranks.size() < 33) ranks.push_back({static_cast<int>(ranks.size()), sleeps.pid()});
  ranks.push_back({33, last.pid()});
  const auto node = observe(ranks);
  ASSERT_EQ(node.processes.size(), 34u);
  EXPECT_TRUE(node.processes.front().why_not.starts_with("Python did not answer"));
  EXPECT_EQ(node.processes.back().python.size(), 1u) << node.processes.back().why_not;
}

TEST_F(ObserveStacks, DumpsOfPyTorchAreReadWhereAVariableSpeaksOfThem) {
  if (std::system("python3 -c 'import os; os.memfd_create' 2>/dev/null") != 0)
    GTEST_SKIP() << "no python3";
  const TemporaryFolder folder;
  std::ofstream(folder.path() + "/sitecustomize.py") << python_start_file();
  std::filesystem::create_directory(folder.path() + "/torch");
  const std::string dump = folder.path() + "/torch/comm_lib_trace_rank_0";
  const auto look = [&](const std::string& variable, std::size_t bytes) {
    const ChildProgram python(program(
        {"python3", "-uc", "import time\nprint('ready')\ntime.sleep(1000)"},
        {{"PYTHONPATH", folder.path()}, {"XDG_CACHE_HOME", folder.path()}, {variable, "9"}}));
    EXPECT_TRUE(python.ready());
    std::filesystem::remove(dump);
    std::filesystem::copy(DLLAUNCH_SOURCE_DIR "/tests/fixtures/flight_recorder/late_0", dump);
    std::filesystem::last_write_time(dump, std::filesystem::file_time_type::clock::now());
    if (bytes > 0) std::filesystem::resize_file(dump, bytes);
    const auto node = observe({{0, python.pid()}});
    return node.processes.empty() ? ProcessStacks() : node.processes.front();
  };
  EXPECT_EQ(look("TORCH_FR_BUFFER_SIZE", 0).recorded.size(), 1u);
  EXPECT_TRUE(look("TORCH_OTHER", 0).recorded.empty()) << "it may be another job's";
  const std::string place = dump + ": ";
  EXPECT_EQ(look("TORCH_FR_BUFFER_SIZE", 17 << 20).record_why_not,
            place + "it has 17 MiB, of which at most 16 are read");
  EXPECT_EQ(look("TORCH_FR_BUFFER_SIZE", 100).record_why_not,
            place + "not a pickle of plain values, or too large a one");
}

/// Rank 0 waits in the second all_reduce, which rank 1 does not enter.
TEST_F(ObserveStacks, OfPyTorchTellWhichCollectiveARankHasNotEntered) {
  if (std::system("python3 -c 'import torch; torch._C._distributed_c10d._dump_fr_trace_file' "
                  ">/dev/null 2>&1") != 0)
    GTEST_SKIP() << "no python3 with a PyTorch that dumps its flight recorder over gloo";
  const TemporaryFolder folder;
  std::ofstream(folder.path() + "/sitecustomize.py") << python_start_file();
  const auto rank = [&](const char* number) {
    return program({"python3", "-uc", R"(import os, threading, time, torch
import torch.distributed as dist
rank = int(os.environ["RANK"])
dist.init_process_group("gloo", init_method="file://" + os.environ["TORCH_FR_DUMP_TEMP_FILE"],
                        rank=rank, world_size=2)
dist.all_reduce(torch.ones(4))
def dump():
  time.sleep(2)
  torch._C._distributed_c10d._dump_fr_trace_file(rank)
  print("ready")
threading.Thread(target=dump).start()
def next_batch():
  time.sleep(1000)
next_batch() if rank else dist.all_reduce(torch.ones(4)))"},
                   {{"PYTHONPATH", folder.path()},
                    {"RANK", number},
                    {"TORCH_FR_BUFFER_SIZE", "100"},
                    {"TORCH_FR_DUMP_TEMP_FILE", folder.path() + "/rank_"}});
  };
  const ChildProgram other(rank("0"), /*waits=*/false);
  const ChildProgram late(rank("1"), /*waits=*/false);
  ASSERT_TRUE(late.says() && other.says());
  const auto report = merge_stacks({observe({{0, other.pid()}, {1, late.pid()}})});
  ASSERT_EQ(report.odd.size(), 1u) << render_stacks(report);
  EXPECT_EQ(report.odd[0].rank, 1);
  EXPECT_EQ(report.odd[0].frame.function, "next_batch");
  EXPECT_EQ(report.odd[0].why, "has not entered all_reduce #2, which 1 other waits in");
}

/// A memory cgroup of this test, of either version.
class MemoryCgroup {
 public:
  explicit MemoryCgroup(std::uint64_t limit_bytes) {
    const auto own = parse_proc_cgroup(*read_file_text("/proc/self/cgroup"));
    for (const auto& [above, limit] :
         {std::pair("/sys/fs/cgroup/memory" + own.memory, "memory.limit_in_bytes"),
          std::pair("/sys/fs/cgroup" + own.unified, "memory.max")}) {
      path_ = fmt::format("{}/dllaunch-test-{}", above, getpid());
      std::error_code refused;
      if (!std::filesystem::create_directory(path_, refused)) continue;
      const bool takes = std::filesystem::exists(path_ + "/" + limit);  // not on a tmpfs
      if (takes && std::ofstream(path_ + "/" + limit) << limit_bytes << std::flush) return;
      std::filesystem::remove(path_, refused);
    }
    path_.clear();
  }
  MemoryCgroup(const MemoryCgroup&) = delete;
  MemoryCgroup& operator=(const MemoryCgroup&) = delete;
  ~MemoryCgroup() {
    // Those who have just ended leave it late.
    for (int tries = 0; !path_.empty() && rmdir(path_.c_str()) != 0 && tries < 100; ++tries)
      std::this_thread::sleep_for(10ms);
  }
  bool made() const { return !path_.empty(); }
  std::string processes() const { return path_ + "/cgroup.procs"; }

 private:
  std::string path_;
};

TEST_F(ObserveStacks, OfAProcessNearItsMemoryLimitTellIt) {
  constexpr std::size_t mib = std::size_t{1} << 20;
  const MemoryCgroup cgroup(256 * mib);
  if (!cgroup.made()) GTEST_SKIP() << "no memory cgroup can be made here: that needs root";
  const ChildProgram child([&](int ready) {
    std::ofstream(cgroup.processes()) << getpid() << std::flush;
    const std::vector<char> taken(192 * mib, 'x');
    if (write(ready, taken.data(), 1) != 1) _exit(1);
    while (true) pause();
  });
  ASSERT_TRUE(child.ready());
  const auto node = observe({{.rank = 0, .pid = child.pid()}});
  ASSERT_EQ(node.processes.size(), 1u);
  EXPECT_EQ(node.processes[0].memory_limit_bytes, 256 * mib);
  EXPECT_GE(node.processes[0].memory_used_bytes, 192 * mib);
}

// The parent of a vfork() waits in the kernel, deaf to signals, as one does whose disk is gone.
TEST_F(ObserveStacks, OfARankThatIsStuckInTheKernelSaySo) {
  const ChildProgram stuck(
      [](int ready) {
        if (vfork() == 0) {
          if (write(ready, "r", 1) != 1) _exit(1);
          while (true) pause();
        }
      },
      /*waits=*/false);
  ASSERT_TRUE(stuck.says());
  NodeStacks node;
  const auto deadline = std::chrono::steady_clock::now() + 60s;
  do {
    node = observe({{.rank = 0, .pid = stuck.pid()}});
    ASSERT_EQ(node.processes.size(), 2u);
  } while ((node.processes[0].main_state() != "D" || node.processes[1].main_state() != "S") &&
           std::chrono::steady_clock::now() < deadline);
  EXPECT_EQ(node.processes[0].main_state(), "D");
  EXPECT_TRUE(node.processes[0].threads.front().frames.empty());
  EXPECT_NE(node.processes[0].threads.front().why_not, "");
  EXPECT_EQ(node.processes[1].main_state(), "S");
  kill(node.processes[1].pid, SIGKILL);
}

/// More threads and processes than are shown cost no more time.
TEST_F(ObserveStacks, AreBounded) {
  const ChildProgram shell(
      program({"bash", "-c",
               "exec 2>/dev/null; for i in $(seq 80); do sleep 1000 & done; echo ready; wait"}));
  ASSERT_TRUE(shell.ready());
  const auto node = observe({{.rank = 0, .pid = shell.pid()}});
  EXPECT_EQ(node.processes.size(), 64u);
  EXPECT_EQ(node.left_out, 17);
  for (const ProcessStacks& each : node.processes) {
    if (each.parent != 0) kill(each.pid, SIGKILL);
  }
}

}  // namespace
}  // namespace dllaunch
