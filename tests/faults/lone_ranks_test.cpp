// On the real test Slurm, with a KillWait of an hour: a rank is killed, and a rank on another node
// neither notices nor follows TERM, like one that waits in MPI. The supervisor does not wait for
// Slurm to kill it.
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "tests/faults/supervised_faults.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;
using namespace std::chrono_literals;

class LoneRanks : public SupervisedFaults {
 protected:
  int kill_wait_s() const override { return 3600; }

  /// Stops its main thread so that only KILL ends it: SIGCONT, which Slurm sends before TERM, does
  /// not let it go on.
  static void hold(pid_t rank) {
    ASSERT_EQ(ptrace(PTRACE_SEIZE, rank, nullptr, nullptr), 0);
    ASSERT_EQ(ptrace(PTRACE_INTERRUPT, rank, nullptr, nullptr), 0);
    ASSERT_EQ(waitpid(rank, nullptr, __WALL), rank);
  }
};

TEST_P(LoneRanks, ARankWaitsForADeadOne) {
  start_training(
      {"resources.nodes=3", "runtime.stall_seconds=600", "runtime.stall_abort_seconds=1200"});
  if (HasFailure()) return;
  const auto lone = rank(2);
  hold(lone);
  if (HasFatalFailure()) return;
  kill(rank(1), SIGKILL);
  // Its tracer reaps it, or it stays in sight.
  EXPECT_TRUE(happens_within(60s, [&] {
    int status = 0;
    return waitpid(lone, &status, WNOHANG | __WALL) == lone && WIFSIGNALED(status);
  })) << journal();
  const auto ended = work_->wait(120s);
  EXPECT_EQ(ended.exit_code, 0) << ended.err << journal();
  EXPECT_THAT(journal(),
              HasSubstr("rank 1 on n2 was killed by signal 9 (SIGKILL); restart 1 of 3"));
  EXPECT_EQ(summary()["restarts"], 1);
  EXPECT_EQ(steps_in_history(work_->run_dir()), epochs_ * 43);
}

INSTANTIATE_TEST_SUITE_P(Rounds, LoneRanks, testing::Range(0, rounds));

}  // namespace
}  // namespace dllaunch
