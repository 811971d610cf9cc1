// The real supervisor over real processes; srun is a shell script that says what srun would.
#include "launcher/supervise/supervisor.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "launcher/base/exit_code.hpp"
#include "launcher/nodes/node_book.hpp"
#include "launcher/os/descendants.hpp"
#include "launcher/run/events.hpp"
#include "launcher/run/journal.hpp"
#include "launcher/supervise/supervisor_parent.hpp"
#include "runtime/rank/run_ownership.hpp"
#include "tests/launcher/supervise/supervised.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;

constexpr RecoverySettings unprepared{};
constexpr RecoverySettings training{.plan = {.max_restarts = 3, .requeue_on = {}},
                                    .trains = true,
                                    .asks_ranks = true,
                                    .grace_seconds = 5};

const char* const rank_killed = "echo 'srun: error: n2: task 1: Killed' >&2; exit 137; ";

JournalDecision last_of(const Supervised& place) {
  return read_journal(place.dir()).last.value_or(JournalDecision{});
}

TEST(Supervisor, AllWell) {
  Supervised place;
  EXPECT_EQ(supervise(place.system, place.run("exit 0", unprepared)), 0);
  EXPECT_EQ(place.starts(), 1);
  EXPECT_EQ(last_of(place).status, RunStatus::completed);
  EXPECT_EQ(finished_in_job(place.dir()), std::nullopt) << "no job, no number";
}

TEST(Supervisor, ARankThatDiesOnceIsStartedAgain) {
  Supervised place;
  const auto began = std::chrono::steady_clock::now();
  const auto script = std::string("if [ $n = 1 ]; then ") + rank_killed + "fi; exit 0";
  EXPECT_EQ(supervise(place.system, place.run(script, command_recovery(3))), 0);
  EXPECT_EQ(place.starts(), 2);
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(30));
  const auto journal = read_journal(place.dir());
  ASSERT_EQ(journal.history.size(), 2u);
  EXPECT_EQ(journal.history[0].dead.rank, 1);
  EXPECT_EQ(journal.history[1].cause, Cause::completed);
}

/// The kernel sends the supervisor a SIGTERM then, but no person asked it to stop.
TEST(Supervisor, AKilledGuardianIsNotACancellation) {
  Supervised place;
  const auto run = place.run("echo up > up; exec sleep 60", command_recovery(3));
  const pid_t supervisor_parent = fork();
  if (supervisor_parent == 0) {
    const SupervisorSignals signals(SIGUSR2);
    _exit(run_under_parent(signals, [&] { return supervise(place.system, run); }));
  }
  const auto within_a_minute = [](const auto& condition) {
    for (int i = 0; i < 6000 && !condition(); ++i) usleep(10'000);
    return condition();
  };
  ASSERT_TRUE(within_a_minute([&] { return std::filesystem::exists(place.dir().path + "/up"); }));
  kill(supervisor_parent, SIGKILL);
  waitpid(supervisor_parent, nullptr, 0);
  ASSERT_TRUE(within_a_minute([&] { return read_journal(place.dir()).last.has_value(); }));
  const auto journal = read_journal(place.dir());
  ASSERT_EQ(journal.history.size(), 1u);
  EXPECT_EQ(journal.history[0].cause, Cause::cut_short);
  EXPECT_EQ(journal.last->next, Next::requeue) << "its batch script ends with it";
  EXPECT_THAT(journal.last->reason, HasSubstr("guards its supervisor was killed"));
}

TEST(Supervisor, ACommandWithoutRecoveryIsNot) {
  Supervised place;
  EXPECT_EQ(supervise(place.system, place.run("exit 7", unprepared)), 7);
  EXPECT_EQ(place.starts(), 1);
  EXPECT_EQ(last_of(place).reason, "the ranks exited with code 7");
}

TEST(Supervisor, NeverAgainIsNeverAgain) {
  Supervised place;
  const auto script = "echo 'srun: error: n2: task 1: Exited with exit code 93' >&2; exit 93";
  EXPECT_EQ(supervise(place.system, place.run(script, command_recovery(3))), 93);
  EXPECT_EQ(place.starts(), 1);
  EXPECT_THAT(last_of(place).reason, HasSubstr("never restart"));
}

TEST(Supervisor, TheSameMistakeIsNotRepeatedToTheLast) {
  Supervised place;
  place.file("out/rank-0001-n2.log", "");
  const auto script =
      "echo \"ValueError: step $n is bad\" >> out/rank-0001-n2.log; "
      "echo 'srun: error: n2: task 1: Exited with exit code 1' >&2; exit 1";
  EXPECT_EQ(supervise(place.system, place.run(script, command_recovery(9))), 1);
  EXPECT_EQ(place.starts(), 2);
  EXPECT_THAT(last_of(place).reason, HasSubstr("the same as before"));
}

/// Ranks write into the same logs again: what the first start left there is not the second's.
TEST(Supervisor, AnErrorOfAnEarlierStartIsNotReadAgain) {
  Supervised place;
  const auto script =
      "if [ $n = 1 ]; then echo 'OSError: [Errno 5] Input/output error' >> out/rank-0001-n2.log; "
      "fi; "
      "echo epoch >> out/rank-0001-n2.log; if [ $n = 3 ]; then exit 0; fi; "
      "echo 'srun: error: n2: task 1: Exited with exit code 1' >&2; exit 1";
  EXPECT_EQ(supervise(place.system, place.run(script, command_recovery(9))), 0);
  EXPECT_EQ(place.starts(), 3);
  const auto history = read_journal(place.dir()).history;
  ASSERT_EQ(history.size(), 3u);
  EXPECT_THAT(history[0].first_error, HasSubstr("Errno 5"));
  EXPECT_EQ(history[1].first_error, "");
}

/// Not the ranks' fault, so it may come as often as it wants to.
TEST(Supervisor, ADiskThatIsNearlyFullIsNoMistakeOfTheirs) {
  Supervised place;
  place.file("out/rank-0001-n2.log", "");
  const auto script =
      "echo 'OSError: [Errno 28] No space left on device' >> out/rank-0001-n2.log; "
      "echo 'srun: error: n2: task 1: Exited with exit code 1' >&2; exit 1";
  EXPECT_EQ(supervise(place.system, place.run(script, command_recovery(2))), 1);
  EXPECT_EQ(place.starts(), 3);
  EXPECT_THAT(last_of(place).reason, HasSubstr("No space left on device; 2 restarts did not help"));
}

/// The ranks fail since the run's directory is gone for a while: they start when it is back.
TEST(Supervisor, ARunDirectoryThatIsAwayIsWaitedFor) {
  namespace fs = std::filesystem;
  const Supervised place;
  place.file("plan.json", "{}");
  const std::string here = place.dir().path;
  std::thread remount([&] {
    while (!fs::exists(here + ".away")) usleep(10'000);
    fs::create_directory(here);  // as where something was mounted
    usleep(1'500'000);
    fs::remove(here);
    fs::rename(here + ".away", here);
  });
  const auto script = "if [ $n = 1 ]; then mv \"$PWD\" \"$PWD.away\"; exit 1; fi; exit 0";
  PosixSystem system{Console{}};
  EXPECT_EQ(supervise(system, place.run(script, command_recovery(3))), 0);
  remount.join();
  EXPECT_EQ(place.starts(), 2);
  const auto history = read_journal(place.dir()).history;
  ASSERT_EQ(history.size(), 2u);
  EXPECT_EQ(history[1].cause, Cause::completed);
  EXPECT_EQ(history[0].cause, Cause::storage);
  EXPECT_EQ(history[0].detail, "run directory " + here + " does not exist");
}

TEST(Supervisor, ARunDirectoryThatDoesNotComeBackEndsTheRun) {
  const Supervised place;
  place.file("plan.json", "{}");
  auto recovery = command_recovery(3);
  recovery.plan.stall_abort_seconds = 1;
  const std::string here = place.dir().path;
  PosixSystem system{Console{}};
  EXPECT_EQ(supervise(system, place.run("mv \"$PWD\" \"$PWD.away\"; exit 1", recovery)), 3);
  EXPECT_FALSE(std::filesystem::exists(here)) << "nothing is made where it was";
  std::filesystem::rename(here + ".away", here);
  EXPECT_EQ(place.starts(), 1);
}

TEST(Supervisor, TheStartersZeroDoesNotEndATraining) {
  Supervised place;
  const auto script =
      "if [ $n = 2 ]; then echo '{\"time\": 1, \"event\": \"end\", \"status\": \"completed\"}' "
      ">> events.jsonl; fi; exit 0";
  EXPECT_EQ(supervise(place.system, place.run(script, training)), 0);
  EXPECT_EQ(place.starts(), 2);
  EXPECT_EQ(read_journal(place.dir()).history[0].cause, Cause::unproven);
}

/// Before the second incarnation begins, with its fencing token, its history is told why.
TEST(Supervisor, ARestartIsTold) {
  Supervised place;
  const auto script =
      std::string(
          "if [ $n = 1 ]; then echo '{\"time\": 1, \"torn' | tr -d '\\n' >> events.jsonl; ") +
      rank_killed +
      "fi; cp events.jsonl seen; echo '{\"time\": 2, \"event\": \"end\", \"status\": "
      "\"completed\"}' >> events.jsonl; exit 0";
  EXPECT_EQ(supervise(place.system, place.run(script, training)), 0);
  EventTail seen(place.dir().path + "/seen");
  const auto events = seen.read();
  ASSERT_EQ(events.size(), 1u);
  const auto* restart = std::get_if<RestartEvent>(&events.front());
  ASSERT_NE(restart, nullptr);
  EXPECT_EQ(restart->reason, "rank 1 on n2 was killed by signal 9 (SIGKILL)");
  EXPECT_EQ(restart->queue_seconds, 0);
  EXPECT_EQ(restart->fencing_token, 2);
}

TEST(Supervisor, AFinishedJobIsNotStartedAgain) {
  Supervised place;
  auto run = place.run("exit 0", unprepared);
  run.allocation.job = "17";
  EXPECT_EQ(supervise(place.system, run), 0);
  run.allocation.restarts = 1;
  EXPECT_EQ(supervise(place.system, run), 0);
  EXPECT_EQ(place.starts(), 1);
  run.allocation.job = "18";
  EXPECT_EQ(supervise(place.system, run), 0);
  EXPECT_EQ(place.starts(), 2) << "a new job is the user's decision";
}

TEST(Supervisor, WhatItSawOfItsNodesIsInTheBook) {
  Supervised place;
  auto run = place.run(rank_killed, unprepared);
  run.allocation.job = "17";
  run.allocation.nodes = "n[1-2]";
  EXPECT_EQ(supervise(place.system, run), 1);
  const auto read = read_node_book({place.book(), /*own=*/false});
  ASSERT_TRUE(read);
  ASSERT_EQ(read->all.size(), 2u);
  EXPECT_EQ(read->all[0].kind, SightingKind::used);
  EXPECT_EQ(read->all[0].nodes, "n[1-2]");
  EXPECT_EQ(read->all[1].kind, SightingKind::failed);
  EXPECT_EQ(read->all[1].nodes, "n2");
}

/// An orphan that is about to start its ranks anew must not end the copy that took its place.
TEST(Supervisor, WhatWasLostMeanwhileIsNotTakenBack) {
  Supervised place;
  auto run = place.run("exit 1", command_recovery(3));
  run.allocation.job = "17";
  std::thread successor([&] {
    while (!read_journal(place.dir()).last) usleep(10'000);
    EXPECT_TRUE(RunOwnership::take(place.dir().path, {.host = "n3", .job = "17", .restart = 1}));
  });
  EXPECT_EQ(supervise(place.system, run), 1);
  successor.join();
  EXPECT_EQ(place.starts(), 1);
  const auto holder = run_owner(place.dir().path);
  ASSERT_TRUE(holder && *holder);
  EXPECT_EQ((*holder)->first, 2);
  // Nor does a supervisor that comes after the first was killed.
  EXPECT_EQ(supervise(place.system, run), 1);
  EXPECT_EQ(place.starts(), 1);
}

/// Its successor does not own the run yet: it waits in the queue.
TEST(Supervisor, AJobThatSlurmHasPutBackIsLeftAlone) {
  class Slurm : public PosixSystem {
   public:
    Slurm() : PosixSystem(Console{}) {}
    Result<CommandOutput> run(const std::vector<std::string>& argv,
                              std::chrono::milliseconds limit) override {
      if (argv == std::vector<std::string>{"scontrol", "show", "job", "17"})
        return CommandOutput{0, "JobId=17 JobName=a\n   JobState=PENDING\n   Restarts=1\n", ""};
      return PosixSystem::run(argv, limit);
    }
  };
  Supervised place;
  Slurm slurm;
  auto run = place.run("exit 1", command_recovery(3));
  run.allocation.job = "17";
  EXPECT_EQ(supervise(slurm, run), 1);
  EXPECT_EQ(place.starts(), 1);
  const auto holder = run_owner(place.dir().path);
  ASSERT_TRUE(holder && *holder);
  EXPECT_EQ((*holder)->first, 1) << "the next fencing token is its successor's";
}

/// Killed after any line of its journal, it is as if it had gone on.
TEST(Supervisor, WhatWasDecidedIsCarriedOut) {
  Supervised whole;
  auto run = whole.run("exit 93", command_recovery(3));
  run.allocation.job = "17";
  ASSERT_EQ(supervise(whole.system, run), 93);
  const auto journal = *whole.system.read_file(whole.dir().path + "/supervisor.jsonl");
  const auto begun = journal.find('\n') + 1;
  const auto ended = journal.find('\n', begun) + 1;
  for (const auto end : {ended, journal.size()}) {
    Supervised place;
    auto again = place.run("exit 93", command_recovery(3));
    again.allocation.job = "17";
    place.file("supervisor.jsonl", journal.substr(0, end));
    EXPECT_EQ(supervise(place.system, again), 93);
    EXPECT_EQ(place.starts(), 0) << "never restart";
    again.allocation.restarts = 1;
    EXPECT_EQ(supervise(place.system, again), 93);
    EXPECT_EQ(place.starts(), 1) << "a user has requeued the job";
  }
}

TEST(Supervisor, WhatIsCompleteIsNotStartedAgainForWantOfAMark) {
  Supervised place;
  auto run = place.run("exit 0", command_recovery(3));
  run.allocation.job = "17";
  ASSERT_EQ(supervise(place.system, run), 0);
  std::filesystem::remove(place.dir().path + "/finished.job");
  run.allocation.restarts = 1;
  EXPECT_EQ(supervise(place.system, run), 0);
  EXPECT_EQ(place.starts(), 1);
  EXPECT_EQ(finished_in_job(place.dir()), "17");
}

/// Near the time limit slurmctld restarts: it is asked again.
TEST(Supervisor, ARequeueWaitsForTheController) {
  class Slurm : public PosixSystem {
   public:
    Slurm() : PosixSystem(Console{}) {}
    Result<CommandOutput> run(const std::vector<std::string>& argv,
                              std::chrono::milliseconds limit) override {
      if (argv[0] != "scontrol") return PosixSystem::run(argv, limit);
      if (++asked < 3) return CommandOutput{1, "", "Unable to contact slurm controller\n"};
      requeued = requeued || argv[1] == "requeue";
      return CommandOutput{0, "JobId=17 JobName=a\n   JobState=RUNNING\n   Restarts=0\n", ""};
    }
    int asked = 0;
    bool requeued = false;
  };
  Supervised place;
  Slurm slurm;
  auto run = place.run("echo 'srun: error: Node failure on n2' >&2; exit 1", command_recovery(3));
  run.allocation.job = "17";
  EXPECT_EQ(supervise(slurm, run), 1);
  EXPECT_TRUE(slurm.requeued);
  EXPECT_EQ(last_of(place).next, Next::requeue);
  // The other components may still be saving: their owner requeues the whole.
  Supervised component;
  Slurm untouched;
  auto part =
      component.run("echo 'srun: error: Node failure on n2' >&2; exit 1", command_recovery(3));
  part.allocation = {.job = "17", .group = "1", .leader = "16"};
  EXPECT_EQ(supervise(untouched, part), exit_code::requeue_whole);
  EXPECT_FALSE(untouched.requeued);
  EXPECT_EQ(last_of(component).next, Next::requeue);
}

/// Slurm gives the node up and requeues the job: its TERM is not a user's request to stop.
TEST(Supervisor, ARequeueWaitsForANodeInDoubt) {
  class Slurm : public PosixSystem {
   public:
    Slurm() : PosixSystem(Console{}) {}
    Result<CommandOutput> run(const std::vector<std::string>& argv,
                              std::chrono::milliseconds limit) override {
      if (argv[0] != "scontrol") return PosixSystem::run(argv, limit);
      requeued = requeued || argv[1] == "requeue";
      if (argv[2] == "node")
        return CommandOutput{0, "NodeName=n1 State=ALLOCATED\n\nNodeName=n2 State=MIXED*\n", ""};
      if (++asked < 3) kill(getpid(), SIGTERM);
      return CommandOutput{0,
                           asked < 3 ? "JobId=17 JobName=a\n   JobState=RUNNING\n   Restarts=0\n"
                                     : "JobId=17 JobName=a\n   JobState=PENDING\n   Restarts=1\n",
                           ""};
    }
    int asked = 0;
    bool requeued = false;
  };
  Supervised place;
  Slurm slurm;
  auto run = place.run("echo 'srun: error: Node failure on n2' >&2; exit 1", command_recovery(3));
  run.allocation.job = "17";
  run.allocation.nodes = "n[1-2]";
  EXPECT_EQ(supervise(slurm, run), 1);
  EXPECT_FALSE(slurm.requeued);
  EXPECT_EQ(last_of(place).next, Next::requeue) << "nor is it stopped for good";
}

/// What a supervisor that was killed has left behind counts.
TEST(Supervisor, ItsSuccessorKnowsWhatWasBefore) {
  Supervised place;
  for (int i = 0; i < 3; ++i)
    ASSERT_TRUE(append_to_journal(place.dir(), line_of(JournalAttempt{.time = 1, .attempt = i})));
  EXPECT_EQ(supervise(place.system, place.run("exit 0", training)), 1);
  EXPECT_EQ(place.starts(), 0);
  EXPECT_THAT(last_of(place).reason, HasSubstr("3 attempts in a row"));
}

/// It died with its node; from another one the watcher of a job with spare nodes saw why.
TEST(Supervisor, ItsSuccessorBelievesTheWatcher) {
  Supervised place;
  const JournalAttempt begun{.time = 1, .job = "17", .attempt = 1, .fencing_token = 1};
  const JournalDecision watched{.time = 2,
                                .job = "17",
                                .next = Next::requeue,
                                .reason = "lost node n1, where the job's script ran",
                                .status = RunStatus::node_fail};
  ASSERT_TRUE(append_to_journal(place.dir(), line_of(begun) + line_of(watched, std::nullopt)));
  auto run = place.run("exit 93", training);
  run.allocation = {.job = "17", .restarts = 1};
  EXPECT_EQ(supervise(place.system, run), 93);
  std::ifstream events(place.dir().events());
  const std::string text{std::istreambuf_iterator<char>(events), {}};
  EXPECT_THAT(text, HasSubstr(R"("reason":"lost node n1, where the job's script ran")"));
  EXPECT_EQ(read_journal(place.dir()).history.front().detail, watched.reason);
}

/// The ranks are asked, and what they answer is the end: nothing is started again.
TEST(Supervisor, TermAsksTheRanksToSaveAndStops) {
  Supervised place;
  const auto script =
      "trap 'echo saved > saved; exit 75' USR2; touch ready; while :; do sleep 0.05; done";
  // So that the signal finds no thread that would die of it.
  const SupervisorSignals blocked(SIGUSR2);
  std::thread sender([&] {
    while (access((place.dir().path + "/ready").c_str(), F_OK) != 0) usleep(10'000);
    kill(getpid(), SIGTERM);
  });
  const auto run = place.run(script, command_recovery(3));
  const int code = supervise(place.system, run);
  sender.join();
  EXPECT_EQ(code, 75);
  EXPECT_EQ(access((place.dir().path + "/saved").c_str(), F_OK), 0);
  EXPECT_EQ(place.starts(), 1);
  EXPECT_EQ(last_of(place).status, RunStatus::cancelled);
}

/// A directory that the ranks' failure is part of: moved away, and another in its place.
TEST(Supervisor, NothingIsWrittenIntoWhatIsThereInstead) {
  Supervised place;
  const auto run = place.dir().path;
  const auto away = run + ".away";
  const auto script = "mv '" + run + "' '" + away + "'; mkdir '" + run + "'; exit 1";
  EXPECT_EQ(supervise(place.system, place.run(script, unprepared)), 1);
  EXPECT_TRUE(std::filesystem::is_empty(run));
  const auto journal = read_journal({.path = away});
  ASSERT_EQ(journal.history.size(), 1u);
  EXPECT_EQ(journal.history[0].cause, Cause::cut_short) << "its end was not written";
  std::filesystem::remove(run);
  std::filesystem::rename(away, run);
}

TEST(Supervisor, AnotherRunsDirectoryIsLeftAlone) {
  Supervised place;
  place.file(".run-id", "bbbb");
  auto run = place.run("exit 0", unprepared);
  run.dir.id = "aaaa";
  EXPECT_EQ(supervise(place.system, run), 3);
  EXPECT_EQ(place.starts(), 0);
  EXPECT_FALSE(std::filesystem::exists(run.dir.path + "/supervisor.jsonl"));
  EXPECT_FALSE(std::filesystem::exists(run.dir.path + "/.lease"));
  run.dir.id = "bbbb";
  EXPECT_EQ(supervise(place.system, run), 0);
}

TEST(Supervisor, NothingIsLeftBehind) {
  Supervised place;
  EXPECT_EQ(supervise(place.system, place.run("setsid sleep 300 & exit 0", unprepared)), 0);
  EXPECT_TRUE(descendants_of(getpid()).empty());
}

}  // namespace
}  // namespace dllaunch
