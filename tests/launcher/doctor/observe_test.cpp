// A recorded /proc of both cgroup versions, and real processes of this machine.
#include "launcher/doctor/observe.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "runtime/rank/binding.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;
using std::string_literals::operator""s;
using testing::ElementsAre;

class Recorded : public testing::Test {
 protected:
  void write(const std::string& path, const std::string& text) {
    const auto whole = root_.path() + path;
    fs::create_directories(fs::path(whole).parent_path());
    std::ofstream(whole, std::ios::binary) << text;
  }
  static std::string status(const std::string& cpus, char state = 'S') {
    return "Name:\tpython3\nState:\t"s + state +
           " (x)\nPPid:\t5\nThreads:\t3\nCpus_allowed_list:\t" + cpus +
           "\nMems_allowed_list:\t0-1\n";
  }
  void write_process(int pid, const std::string& environment) {
    const auto proc = "/proc/" + std::to_string(pid);
    write(proc + "/status", status("0-3"));
    write(proc + "/cmdline", "/usr/bin/python3\0/home/a/train.py\0"s);
    write(proc + "/environ", environment);
    write(proc + "/limits",
          "Max open files   1024   4096   files\n"
          "Max locked memory   65536   65536   bytes\n");
    write(proc + "/maps", "7f-80 r-xp 0 08:01 1 /opt/libcudart.so.12\n");
    write(proc + "/numa_maps", "55 prefer:1 heap anon=1 N1=1\n");
  }

  TemporaryFolder root_;
  const std::string rank_3_ =
      "SLURM_JOB_ID=12\0SLURM_STEP_ID=0\0SLURM_PROCID=3\0SLURM_LOCALID=1\0"
      "SLURM_STEP_NUM_TASKS=4\0SLURM_STEP_TASKS_PER_NODE=2(x2)\0SLURM_NODEID=1\0"
      "SLURM_STEP_NUM_NODES=2\0HOME=/home/a\0OMP_NUM_THREADS=7\0"s;
};

TEST_F(Recorded, AProcessUnderCgroupVersion1) {
  write_process(71, rank_3_);
  write("/proc/71/task/71/status", status("0-3", 'R'));
  write("/proc/71/task/72/status", status("8", 'R'));
  write("/proc/71/task/73/status", status("1", 'S'));
  write("/proc/71/cgroup", "5:devices:/slurm/job_12/step_0\n3:cpuset:/slurm/job_12/step_0\n0::/\n");
  write("/sys/fs/cgroup/cpuset/slurm/job_12/cpuset.cpus", "0-7\n");
  write("/sys/fs/cgroup/devices/slurm/job_12/step_0/devices.list", "c 195:1 rwm\nc 195:255 rwm\n");

  const auto rank = observe_process(root_.path(), 71);
  ASSERT_TRUE(rank) << rank.error().what;
  EXPECT_EQ(rank->rank, 3);
  EXPECT_EQ(rank->local_rank, 1);
  EXPECT_EQ(rank->local_world_size, 2);
  EXPECT_EQ(rank->launcher, "slurm");
  EXPECT_EQ(rank->command, "python3 train.py");
  EXPECT_EQ(to_list(rank->main_cpus), "0-3");
  EXPECT_EQ(to_list(rank->cpus), "0-3,8");
  EXPECT_EQ(rank->threads, 3);
  EXPECT_EQ(rank->runnable_threads, 2);
  EXPECT_EQ(to_list(rank->cpuset), "0-7") << "of the nearest cgroup that has one";
  EXPECT_EQ(to_list(rank->allowed_numa), "0-1");
  EXPECT_EQ(rank->memory.mode, "prefer");
  EXPECT_EQ(rank->open_files, 1024u);
  EXPECT_EQ(rank->locked_memory_bytes, 65536u);
  EXPECT_THAT(rank->gpu_libraries, ElementsAre("libcudart.so.12"));
  ASSERT_TRUE(rank->nvidia_devices);
  EXPECT_EQ(to_list(*rank->nvidia_devices), "1");
  EXPECT_EQ(rank->environment.at("OMP_NUM_THREADS"), "7");
  EXPECT_FALSE(rank->environment.contains("HOME"));
  EXPECT_TRUE(rank->unread.empty());
}

TEST_F(Recorded, AProcessUnderCgroupVersion2) {
  write_process(71, rank_3_);
  write("/proc/71/cgroup", "0::/system.slice/slurmstepd.scope/job_12/step_0/user/task_1\n");
  write("/sys/fs/cgroup/system.slice/slurmstepd.scope/job_12/cpuset.cpus.effective", "0-3,64\n");
  write("/sys/fs/cgroup/cpuset.cpus.effective", "0-127\n");
  const auto rank = observe_process(root_.path(), 71);
  ASSERT_TRUE(rank);
  EXPECT_EQ(to_list(rank->cpuset), "0-3,64");
  EXPECT_FALSE(rank->nvidia_devices);
}

TEST_F(Recorded, WhatIsMissingIsNotGuessed) {
  write("/proc/71/status", status("0"));
  const auto rank = observe_process(root_.path(), 71);
  ASSERT_TRUE(rank);
  EXPECT_EQ(rank->command, "python3");
  EXPECT_EQ(rank->rank, -1);
  EXPECT_TRUE(rank->cpuset.empty());
  EXPECT_EQ(rank->memory.mode, "unknown");
  EXPECT_FALSE(rank->libraries_read);
}

TEST_F(Recorded, WhatIsRefusedIsListed) {
  write_process(71, rank_3_);
  // A folder in a file's place is refused to root as well.
  fs::remove(root_.path() + "/proc/71/environ");
  fs::create_directories(root_.path() + "/proc/71/environ");
  const auto rank = observe_process(root_.path(), 71);
  ASSERT_TRUE(rank);
  EXPECT_THAT(rank->unread, ElementsAre("environ: Is a directory"));
}

TEST_F(Recorded, AMissingOrDeadProcessIsAnError) {
  const auto missing = observe_process(root_.path(), 71);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().what, "there is no process 71");
  write("/proc/71/status", status("0", 'Z'));
  EXPECT_FALSE(observe_process(root_.path(), 71));
}

TEST_F(Recorded, JobProcessesAreThoseWithAnEnvironment) {
  write_process(71, rank_3_);
  write_process(72, "HOME=/\0"s);
  write("/proc/73/status", status("0"));
  write("/proc/self/status", status("0"));
  auto processes = observe_job_processes(root_.path());
  ASSERT_EQ(processes.size(), 2u);
  EXPECT_EQ(processes[0].job, "step 12.0");
  EXPECT_EQ(processes[0].parent, 5);
  EXPECT_EQ(processes[1].job, "");
}

/// A child that does nothing, bound to one CPU.
class Child {
 public:
  explicit Child(const IdSet& cpus) {
    pid_ = fork();
    if (pid_ != 0) return;
    (void)apply_binding(cpus);
    execl("/bin/sleep", "sleep", "60", nullptr);
    _exit(127);
  }
  ~Child() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  int pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
};

TEST(ObserveProcess, OfARealChild) {
  const auto mine = current_binding();
  ASSERT_TRUE(mine);
  const IdSet one = {mine->last()};
  Child child(one);
  auto seen = observe_process("", child.pid());
  for (int i = 0; i < 6000 && (!seen || seen->command != "sleep"); ++i) {
    usleep(10'000);
    seen = observe_process("", child.pid());
  }
  ASSERT_TRUE(seen) << seen.error().what;
  EXPECT_EQ(seen->command, "sleep");
  // That look may have begun before the child had bound itself and become sleep.
  seen = observe_process("", child.pid());
  ASSERT_TRUE(seen) << seen.error().what;
  EXPECT_EQ(seen->cpus, one);
  EXPECT_EQ(seen->threads, 1);
  EXPECT_TRUE(seen->libraries_read);
  EXPECT_TRUE(seen->open_files);
  EXPECT_TRUE(seen->unread.empty()) << seen->unread.front();
}

TEST(ObserveProcess, OfThoseThatComeAndGo) {
  for (int i = 0; i < 20; ++i) {
    Child child(*current_binding());
    for (const auto& process : observe_job_processes(""))
      (void)observe_process("", process.pid);  // gone meanwhile or not: an answer
  }
  EXPECT_FALSE(observe_process("", 1 << 23));
}

TEST(ObserveSharedMemory, FreeIsPartOfAll) {
  const auto memory = observe_shared_memory();
  if (!memory) GTEST_SKIP() << "no /dev/shm on this machine";
  EXPECT_LE(memory->free_bytes, memory->total_bytes);
}

}  // namespace
}  // namespace dllaunch
