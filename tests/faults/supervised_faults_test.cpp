// What kills jobs, done to jobs with a supervisor: a training ends with the weights of one that
// nothing was done to, or the run ends for the reason that it says.
#include "tests/faults/supervised_faults.hpp"

namespace dllaunch {
namespace {

using testing::AnyOf;
using testing::Ge;
using testing::HasSubstr;
using namespace std::chrono_literals;

TEST_P(SupervisedFaults, ARankIsKilled) {
  start_training();
  const double killed = unix_seconds();
  kill(rank(1), SIGKILL);
  expect_healed(HasSubstr("was killed by signal 9 (SIGKILL)"));
  EXPECT_THAT(journal(), HasSubstr("was killed by signal 9 (SIGKILL); restart 1 of 3"));
  double noticed = 1e9;
  std::ifstream lines(work_->run_dir() + "/supervisor.jsonl");
  for (std::string line; std::getline(lines, line);) {
    const auto event = Json::parse(line, nullptr, false);
    if (event.is_object() && event.contains("dead_seen"))
      noticed = std::min(noticed, event["dead_seen"].get<double>() - killed);
  }
  const double trained = seconds_to_next_step(killed);
  std::cout << "noticed after " << noticed << " s, trained again after " << trained << " s\n";
  EXPECT_GT(noticed, 0);
  EXPECT_LT(noticed, longest_recovery() / 2);
  EXPECT_LT(trained, longest_recovery()) << journal() << work_->text_of("stderr");
}

TEST_P(SupervisedFaults, ARankIsStopped) {
  start_training();
  kill(rank(1), SIGSTOP);
  expect_healed(HasSubstr("exited with code"));
  EXPECT_THAT(journal(), HasSubstr("restart 1 of 3"));
}

TEST_P(SupervisedFaults, TheSupervisorIsKilled) {
  start_training();
  const auto found = supervisors();
  ASSERT_EQ(found.size(), 2u) << "one that works and one that waits for it";
  kill(found.back(), SIGKILL);
  expect_healed(HasSubstr("its supervisor was killed"));
}

TEST_P(SupervisedFaults, AUserRequeuesTheJob) {
  start_and_hold();
  cluster_->on_head({"scontrol", "requeue", work_->job_id()});
  expect_healed(HasSubstr("requeued"));
  EXPECT_THAT(work_->text_of("stderr"), HasSubstr("(restart 1)"));
}

TEST_P(SupervisedFaults, AnotherJobComesFirst) {
  start_and_hold();
  cluster_->on_head({"sbatch", "--partition=high", "--nodelist=n2", "--exclusive",
                     "--output=/dev/null", "--wrap", "sleep 1"});
  expect_healed(HasSubstr("was preempted by another job"));
}

/// Ranks cannot be started without it: that costs none of the restarts.
TEST_P(SupervisedFaults, TheControllerIsAway) {
  const auto dying = start_and_hold();
  ASSERT_TRUE(cluster_->tell("stop-controller"));
  kill(dying, SIGKILL);
  std::this_thread::sleep_for(60s);  // the outage itself
  ASSERT_TRUE(cluster_->tell("start-controller"));
  expect_healed(HasSubstr("was killed by signal 9 (SIGKILL)"), 1, 150s);
}

/// The next start takes the one before it, and trains again what was lost.
TEST_P(SupervisedFaults, TheNewestCheckpointIsDamaged) {
  start_training();
  ASSERT_TRUE(
      happens_within(30s, [&] { return events_of(work_->run_dir(), "checkpoint").size() > 1; }));
  const auto supervisor = supervisors().back();
  kill(supervisor, SIGSTOP);
  kill(rank(1), SIGKILL);
  EXPECT_TRUE(happens_within(20s, [&] { return processes_of(work_->run_dir()).empty(); }));
  const fs::path newest = newest_checkpoint({.path = work_->run_dir()});
  auto bytes = bytes_of(newest / "model.safetensors");
  ASSERT_FALSE(bytes.empty());
  bytes[bytes.size() / 2] ^= 1;
  std::ofstream(newest / "model.safetensors", std::ios::binary) << bytes;
  kill(supervisor, SIGCONT);
  expect_healed(HasSubstr("was killed by signal 9 (SIGKILL)"));
  EXPECT_EQ(events_of(work_->run_dir(), "start").size(), 2u);
  std::string logs;
  for (const auto& file : fs::directory_iterator(work_->run_dir() + "/out"))
    logs += bytes_of(file.path());
  EXPECT_THAT(logs, HasSubstr("warning: refused " + newest.string()));
}

/// A minute less 50 seconds of grace: the ranks are asked after ten seconds at most, and the job
/// goes back into the queue, until all is trained.
TEST_P(SupervisedFaults, TheTimeLimitComesNear) {
  start_training(
      {"resources.time=1", "recovery.grace_seconds=50", "runtime.stall_abort_seconds=60"});
  hold_until_asked(1);
  expect_healed(HasSubstr("ended before its time limit"), Ge(1), 240s);
  EXPECT_THAT(journal(), HasSubstr("ended before its time limit; requeueing"));
}

TEST_P(SupervisedFaults, AUserCancels) {
  start_and_hold();
  cluster_->on_head({"scancel", work_->job_id()});
  expect_stopped("was cancelled", 1, "cancelled");
}

/// The batch script's node, or another: slurmd and what it started the ranks with are gone, ranks
/// and supervisor live on, and Slurm starts the job again elsewhere. Of two at once only one
/// writes.
TEST_P(SupervisedFaults, ANodesDaemonsAreKilled) {
  const std::string node = nodes.at(GetParam() % 2);
  start_training();
  const auto orphan = rank(GetParam() % 2);
  // Else it would be done before its successor begins.
  kill(orphan, SIGSTOP);
  for (const char* name : {"slurmd", "slurmstepd"})
    cluster_->on_node(node, {"pkill", "-KILL", name});
  lose(node);
  EXPECT_TRUE(happens_within(60s, [&] {
    return events_of(work_->run_dir(), "start").size() > 1 || !work_->running();
  })) << journal();
  kill(orphan, SIGCONT);
  expect_healed(AnyOf(HasSubstr("lost"), HasSubstr("with its node")));
}

/// Its ranks are alone in the world, and Slurm starts the job again on the others.
TEST_P(SupervisedFaults, ANodeLosesTheNetwork) {
  start_training();
  const auto orphan = rank(1);
  kill(orphan, SIGSTOP);
  ASSERT_TRUE(cluster_->tell("cut-network", {"n2"}));
  lose("n2");
  EXPECT_TRUE(happens_within(60s, [&] {
    return events_of(work_->run_dir(), "start").size() > 1 || !work_->running();
  })) << journal();
  kill(orphan, SIGCONT);
  expect_healed(AnyOf(HasSubstr("lost"), HasSubstr("with its node")));
}

/// Its peers notice at once, Slurm after some 17 s: until then no restart can succeed.
TEST_P(SupervisedFaults, ANodeIsPoweredOff) {
  start_training();
  lost_.emplace_back("n2");
  ASSERT_TRUE(cluster_->tell("kill-node", {"n2"}));
  // Open MPI 5 gives a peer up, with MPI_ERR_UNKNOWN, before Slurm knows that its node is gone.
  expect_healed(AnyOf(HasSubstr("lost"), HasSubstr("with its node"), HasSubstr("that had ended"),
                      HasSubstr("exited with code 14")),
                Ge(1), 150s);
}

std::string command(const std::string& script, const std::string& recovery) {
  return "name: command\nresources: {nodes: 2, ranks_per_node: 1, device: cpu, time: 10}\n"
         "run: |\n  cd \"$DLLAUNCH_RUN_DIR\"\n  " +
         script + "\n" + recovery;
}
constexpr const char* thrice = "recovery: {max_restarts: 3}\n";

/// It counts to twenty and keeps its own checkpoint, whole at every moment, since rank 0 is killed
/// at any: rank 1 does nothing twice.
TEST_P(SupervisedFaults, ARankExitsOnce) {
  const auto ended = work_->run(
      argv(*work_, command("n=$(cat at-$RANK || echo 0); "
                           "while [ $n -lt 20 ]; do n=$((n + 1)); echo $n >> did-$RANK; "
                           "echo $n > new-$RANK && mv new-$RANK at-$RANK; sleep 0.05; "
                           "if [ $RANK = 1 ] && [ $n = 10 ] && mkdir once; then exit 1; fi; done",
                           thrice)));
  EXPECT_EQ(ended.exit_code, 0) << ended.err << journal();
  EXPECT_THAT(journal(), HasSubstr("rank 1 on n2 exited with code 1; restart 1 of 3"));
  std::string twenty;
  for (int n = 1; n <= 20; ++n) twenty += std::to_string(n) + "\n";
  EXPECT_EQ(work_->text_of("run/did-1"), twenty);
  EXPECT_EQ(work_->text_of("run/at-0"), "20\n");
  EXPECT_EQ(summary()["restarts"], 1);
}

TEST_P(SupervisedFaults, ARankExitsAlways) {
  work_->start(argv(*work_, command("echo x >> tries-$RANK; if [ $RANK = 1 ]; then exit 1; fi; "
                                    "sleep 20",
                                    thrice)));
  expect_stopped("rank 1 on n2 exited with code 1, the same as before", 1, "failed");
  EXPECT_EQ(work_->text_of("run/tries-1"), "x\nx\n");
}

TEST_P(SupervisedFaults, ARankNeverWantsToRunAgain) {
  work_->start(argv(*work_, command("echo x >> tries-$RANK; if [ $RANK = 1 ]; then exit 93; fi; "
                                    "sleep 20",
                                    thrice)));
  expect_stopped("exited with code 93: never restart", 93, "failed");
  EXPECT_EQ(work_->text_of("run/tries-1"), "x\n");
}

/// A command without `recovery` is not restarted.
TEST_P(SupervisedFaults, ACommandWithoutRecoveryIsStartedOnce) {
  work_->start(argv(*work_, command("echo x >> tries-$RANK; exit 1", "")));
  expect_stopped("exited with code 1", 1, "failed");
  EXPECT_EQ(work_->text_of("run/tries-1"), "x\n");
}

/// It tidies up and leaves with 0 because Slurm ends it, which is no success.
TEST_P(SupervisedFaults, ACommandThatMakesRoomInGoodOrderIsNotDone) {
  work_->start(argv(*work_, command("echo x >> starts-$RANK; [ $(wc -l < starts-$RANK) = 1 ] || "
                                    "exit 0; trap 'exit 0' TERM; while :; do sleep 0.1; done",
                                    "")));
  ASSERT_TRUE(happens_within(60s, [&] { return fs::exists(work_->run_dir() + "/starts-1"); }))
      << work_->text_of("stderr");
  cluster_->on_head({"sbatch", "--partition=high", "--nodelist=n2", "--exclusive",
                     "--output=/dev/null", "--wrap", "sleep 1"});
  const auto ended = work_->wait(90s);
  EXPECT_EQ(ended.exit_code, 0) << ended.err << journal();
  EXPECT_EQ(work_->text_of("run/starts-1"), "x\nx\n") << journal();
  EXPECT_EQ(summary()["restarts"], 1);
}

/// Only the supervisor can detect this hang: the ranks print nothing and ignore TERM.
TEST_P(SupervisedFaults, ACommandThatHangsIsEnded) {
  work_->start(argv(
      *work_,
      command("trap '' TERM; if mkdir once-$RANK; then while :; do sleep 1; done; fi", thrice) +
          "runtime: {stall_seconds: 1, stall_abort_seconds: 8}\n"));
  const auto ended = work_->wait(60s);
  EXPECT_EQ(ended.exit_code, 0) << ended.err << journal();
  EXPECT_THAT(journal(), HasSubstr("no progress for"));
}

/// srun is killed, for lack of memory say, and its ranks survive: they would block the next ones
/// for ever.
TEST_P(SupervisedFaults, TheStarterIsKilled) {
  work_->start(argv(*work_, command("if mkdir once-$RANK; then exec sleep 300; fi", thrice)));
  ASSERT_TRUE(happens_within(60s, [&] {
    return fs::exists(work_->run_dir() + "/once-0") && fs::exists(work_->run_dir() + "/once-1");
  })) << work_->text_of("stderr");
  for (const pid_t starter : programs_of(work_->run_dir(), "srun", "-")) kill(starter, SIGKILL);
  const auto ended = work_->wait(60s);
  EXPECT_EQ(ended.exit_code, 0) << ended.err << journal();
  EXPECT_THAT(journal(), HasSubstr("restart 1 of 3"));
}

INSTANTIATE_TEST_SUITE_P(Rounds, SupervisedFaults, testing::Range(0, rounds));

}  // namespace
}  // namespace dllaunch
