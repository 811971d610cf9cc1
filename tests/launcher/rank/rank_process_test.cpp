#include "launcher/rank/rank_process.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>

#include "launcher/os/descendants.hpp"

namespace dllaunch {
namespace {

/// A shim around bash, as a child of this process. The program's first line is its process id.
class Shim {
 public:
  explicit Shim(const char* script) {
    std::array<int, 2> ends{};
    if (pipe(ends.data()) != 0) return;
    pid_ = fork();
    if (pid_ == 0) {
      dup2(ends[1], STDOUT_FILENO);
      const auto status = run_as_child([script] {
        execlp("bash", "bash", "-c", script, nullptr);
        return 127;
      });
      end_like(status.value_or(0));
    }
    close(ends[1]);
    from_program_ = ends[0];
  }
  Shim(const Shim&) = delete;
  Shim& operator=(const Shim&) = delete;
  ~Shim() { close(from_program_); }

  pid_t pid() const { return pid_; }
  /// Waits for the program to print it.
  pid_t program() const {
    std::array<char, 16> text{};
    return read(from_program_, text.data(), text.size() - 1) > 0 ? std::atoi(text.data()) : -1;
  }
  /// Waits until no process has the program's output open.
  void wait_for_program() const {
    char byte = 0;
    while (read(from_program_, &byte, 1) > 0) continue;
  }
  int wait() const {
    int status = -1;
    waitpid(pid_, &status, 0);
    return status;
  }

 private:
  pid_t pid_ = -1;
  int from_program_ = -1;
};

TEST(RankProcess, EndsWithTheExitCodeOfItsProgram) {
  for (const int code : {0, 3, 75}) {
    const auto script = "exit " + std::to_string(code);
    const int status = Shim(script.c_str()).wait();
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), code);
  }
}

TEST(RankProcess, EndsOfTheSignalOfItsProgramWithoutASecondCoreFile) {
  for (const int signal : {SIGKILL, SIGTERM, SIGSEGV, SIGUSR2}) {
    const auto script = "kill -" + std::to_string(signal) + " $$; sleep 60";
    const int status = Shim(script.c_str()).wait();
    EXPECT_TRUE(WIFSIGNALED(status));
    EXPECT_EQ(WTERMSIG(status), signal);
    EXPECT_FALSE(WCOREDUMP(status));
  }
}

/// Slurm signals all processes of a step: what the program does about it decides.
TEST(RankProcess, SignalsAreTheProgramsAlone) {
  const Shim shim("trap 'exit 75' USR2; echo $$; while :; do sleep 0.1; done");
  const auto program = shim.program();
  for (const int signal : {SIGUSR2, SIGTERM, SIGINT, SIGHUP}) kill(shim.pid(), signal);
  kill(program, SIGUSR2);
  const int status = shim.wait();
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 75);
}

TEST(RankProcess, KilledItTakesItsProgramAlong) {
  const Shim shim("echo $$; exec sleep 600");
  EXPECT_GT(shim.program(), 0);
  kill(shim.pid(), SIGKILL);
  shim.wait_for_program();
  EXPECT_TRUE(WIFSIGNALED(shim.wait()));
}

TEST(RankProcess, WhoLooksForARankFindsTheProgramAlone) {
  setenv("DLLAUNCH_RANK_PROCESS_TEST", "here", 1);
  // Not by `exec sleep`: the kernel shows no environment while a process becomes another.
  const Shim shim("echo $$; kill -STOP $$");
  const auto program = shim.program();
  EXPECT_EQ(variable_of(program, "DLLAUNCH_RANK_PROCESS_TEST"), "here");
  EXPECT_EQ(variable_of(shim.pid(), "PATH"), std::nullopt);
  kill(program, SIGKILL);
  shim.wait();
}

TEST(RankProcess, KnowsTheCgroupsByWhichSlurmTracksSteps) {
  EXPECT_TRUE(is_tracked_by_cgroup("0::/system.slice/slurmstepd.scope/job_5/step_0/user/task_0\n"));
  EXPECT_TRUE(is_tracked_by_cgroup("9:memory:/\n6:freezer:/slurm/uid_7/job_5/step_0\n0::/\n"));
  EXPECT_FALSE(is_tracked_by_cgroup("9:memory:/slurm/uid_7/job_5/step_0\n6:freezer:/\n0::/\n"))
      << "task/cgroup, beside another proctrack plug-in";
  EXPECT_FALSE(is_tracked_by_cgroup("0::/user.slice\n"));
  EXPECT_FALSE(is_tracked_by_cgroup(""));
}

}  // namespace
}  // namespace dllaunch
