// One attempt: how it is ended when it does not end by itself.
#include "launcher/supervise/attempt_watch.hpp"

#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <thread>

#include "support/file_text.hpp"
#include "support/network/sockets.hpp"
#include "tests/launcher/supervise/supervised.hpp"
#include "tests/support/fake_system.hpp"

namespace dllaunch {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;
using Clock = std::chrono::steady_clock;

class Attempting : public testing::Test {
 protected:
  Result<StarterExit> watch(const SupervisedRun& run,
                            std::optional<AttemptWatch::Time> allocation_ends = {}) {
    const SupervisorSignals signals(run.signal);
    AllocationEnd end(allocation_ends);
    AttemptWatch watch(place_.system, run, ownership_, signals, end);
    return watch.run();
  }
  double seconds_since_start() const {
    return std::chrono::duration<double>(Clock::now() - began_).count();
  }

  Supervised place_;
  RunOwnership ownership_ =
      *RunOwnership::take(place_.dir().path, {.host = "n1", .pid = 1, .job = "17"});
  Clock::time_point began_ = Clock::now();
};

TEST_F(Attempting, RanksAreToldTheirGenerationAndWhereTheHeartIs) {
  const auto end = watch(place_.run("echo $DLLAUNCH_GENERATION $DLLAUNCH_HEARTBEAT >&2", {}));
  ASSERT_TRUE(end);
  EXPECT_EQ(end->output,
            std::to_string(ownership_.fencing_token()) + " " + heartbeat_file(place_.dir()) + "\n");
}

/// Of two ranks in shims; the script stands for srun.
SupervisedRun two_ranks(const Supervised& place, const std::string& script) {
  auto run = place.run(script, {});
  auto argv = run.start.argv();
  for (const char* word : {"dllaunch", "exec", "--run-dir", "RUN", "--", "true"})
    argv.emplace_back(word);
  run.start = start_command_of(argv);
  run.nodes = 1;
  run.ranks_per_node = 2;
  return run;
}

std::string begins(int rank) {
  return "mkdir -p ranks; printf '{\"time\": 1, \"rank\": %d, \"ranks\": 2, \"generation\": "
         "%d}\\n' " +
         std::to_string(rank) + " $DLLAUNCH_GENERATION >> ranks/n1.jsonl; ";
}

TEST_F(Attempting, AStarterThatExitsWithZeroIsAskedForARecordOfEachRank) {
  EXPECT_EQ(watch(two_ranks(place_, begins(0) + begins(1)))->unbegun, "");
  std::filesystem::remove(place_.dir().path + "/ranks/n1.jsonl");
  EXPECT_EQ(watch(two_ranks(place_, begins(0) + "echo srun: error: odd >&2"))->unbegun,
            "rank 1 did not begin: srun: error: odd");
  EXPECT_EQ(watch(two_ranks(place_, begins(0) + "exit 3"))->unbegun, "")
      << "rank 0 may have failed before the other began";
}

TEST_F(Attempting, RanksThatWaitForOnesThatSrunCannotStartAreEnded) {
  const std::string words = "srun: error: task 1 launch failed: Slurmd could not connect IO";
  const auto end = watch(two_ranks(place_, begins(0) + "echo '" + words + "' >&2; exec sleep 300"));
  ASSERT_TRUE(end);
  EXPECT_EQ(end->unbegun, "rank 1 did not begin: " + words);
  EXPECT_LT(seconds_since_start(), 60);
}

TEST_F(Attempting, WhoHasLostTheLeaseIsEndedAtOnce) {
  std::thread other([this] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    EXPECT_TRUE(RunOwnership::take(place_.dir().path, {.host = "n3", .pid = 2, .job = "17"}));
  });
  const auto end = watch(place_.run("exec sleep 300", {}));
  other.join();
  ASSERT_TRUE(end);
  EXPECT_TRUE(end->superseded);
  EXPECT_THAT(end->output, HasSubstr("taken over"));
  EXPECT_LT(seconds_since_start(), 60);
}

/// Even one that ended by itself: its last word may be about files that are another's by now.
TEST_F(Attempting, ALeaseThatWasLostAtTheEndIsSeen) {
  ASSERT_TRUE(RunOwnership::take(place_.dir().path, {.host = "n3", .pid = 2, .job = "17"}));
  const auto end = watch(place_.run("exit 0", {}));
  ASSERT_TRUE(end);
  EXPECT_TRUE(end->superseded);
}

/// A wedge that even ignores TERM.
TEST_F(Attempting, SilenceIsEndedWhateverItTakes) {
  RecoverySettings recovery;
  recovery.plan.stall_abort_seconds = 1;
  const auto end = watch(place_.run("trap '' TERM; while :; do sleep 0.2; done", recovery));
  ASSERT_TRUE(end);
  EXPECT_THAT(end->stall, HasSubstr("no progress for"));
  EXPECT_EQ(end->code, 128 + SIGKILL);
  EXPECT_GT(seconds_since_start(), 1);
  EXPECT_LT(seconds_since_start(), 60);
}

/// In the place of `env`, which starts the autopsy, a program that hangs.
class HangingAutopsy : public PosixSystem {
 public:
  explicit HangingAutopsy(std::string program)
      : PosixSystem(Console{}), program_(std::move(program)) {}
  std::optional<std::string> find_program(std::string_view) override { return program_; }

 private:
  std::string program_;
};

std::string hanging_autopsy(const Supervised& place) {
  const std::string dir = place.dir().path;
  place.file("hangs", "#!/bin/sh\n: > '" + dir + "/hanging'; exec sleep 300\n");
  std::filesystem::permissions(dir + "/hangs", std::filesystem::perms::owner_all);
  return dir + "/hangs";
}

/// Goes on when an autopsy hangs.
constexpr const char* stall_with_stacks =
    R"(say() { echo '{"time": 1, "event": "stall", "seconds": 2, "line": "x", "state": "'$1'"}' )"
    R"(>> events.jsonl; echo $1 >&2; }; say late; until [ -e hanging ]; do sleep 0.02; done; )";

/// 10 s and more would be waited for it: a hundred turns.
TEST_F(Attempting, OnlyWhereRanksGaveUpItsStacksAreWaitedForUntilASignal) {
  HangingAutopsy system(hanging_autopsy(place_));
  const RecoverySettings recovery = {.plan = {.stall_abort_seconds = 2, .autopsy = true},
                                     .trains = true,
                                     .asks_ranks = true,
                                     .grace_seconds = 5};
  for (const bool gives_up : {true, false}) {
    const auto run = place_.run(
        std::string(stall_with_stacks) + (gives_up ? "say 'gave up'; " : "") + "exit 1", recovery);
    std::filesystem::remove(place_.dir().path + "/hanging");
    const SupervisorSignals signals(SIGUSR2);
    AllocationEnd end;
    int turns = 0;
    AttemptWatch watch(system, run, ownership_, signals, end, {.each_turn = [&turns] {
                         if (++turns == 20) kill(getpid(), SIGTERM);
                       }});
    const auto ended = watch.run();
    ASSERT_TRUE(ended);
    EXPECT_EQ(ended->told_to_end, gives_up);
    EXPECT_EQ(turns >= 20, gives_up) << turns;
  }
}

/// The owner of components may tell a supervisor twice to end.
/// Its `env` reads stacks before the time limit until a hang is found, and notes what it reads for.
class AutopsyBeforeTheLimit : public HangingAutopsy {
 public:
  AutopsyBeforeTheLimit(const Supervised& place, const std::string& program)
      : HangingAutopsy(program), place_(place) {}
  void log(std::string_view text) override {
    if (text.find("ending the ranks") != std::string_view::npos) place_.file("found", "");
  }

 private:
  const Supervised& place_;
};

TEST_F(Attempting, TheStacksOfAHangAreReadAfterThoseForAnotherReason) {
  const std::string dir = place_.dir().path;
  place_.file("env", "#!/bin/sh\nwhile [ \"$1\" != --keep ]; do shift; done; cd '" + dir +
                         "'; echo $2 >> read_for\n" +
                         "[ $2 != time_limit ] || until [ -e found ]; do sleep 0.02; done\n");
  std::filesystem::permissions(dir + "/env", std::filesystem::perms::owner_all);
  AutopsyBeforeTheLimit system(place_, dir + "/env");
  const RecoverySettings recovery = {.plan = {.stall_abort_seconds = 2, .autopsy = true}};
  const auto run = place_.run("exec sleep 300", recovery);
  const SupervisorSignals signals(SIGUSR2);
  AllocationEnd end(Clock::now() + seconds(15));
  AttemptWatch watch(system, run, ownership_, signals, end);
  const auto ended = watch.run();
  ASSERT_TRUE(ended);
  EXPECT_THAT(ended->stall, HasSubstr("no progress for"));
  EXPECT_EQ(*read_file_text(dir + "/read_for"), "time_limit\nhang\n");
}

TEST_F(Attempting, RanksOfAComponentAreToldOnceThatAnotherHasEndedTheJob) {
  class CountingSystem : public PosixSystem {
   public:
    CountingSystem() : PosixSystem(Console{}) {}
    Result<CommandOutput> run(const std::vector<std::string>& argv,
                              std::chrono::milliseconds) override {
      ran.push_back(fmt::format("{}", fmt::join(argv, " ")));
      return CommandOutput{};
    }
    std::vector<std::string> ran;
  } system;
  auto run = place_.run("until [ -e told ]; do sleep 0.02; done", {});
  run.allocation = {.job = "18", .group = "1"};
  const SupervisorSignals signals(SIGUSR2);
  AllocationEnd end;
  int turns = 0;
  AttemptWatch watch(system, run, ownership_, signals, end, {.each_turn = [&] {
                       if (++turns <= 2) kill(getpid(), SIGINT);
                       if (turns == 3) place_.file("told", "");
                     }});
  const auto ended = watch.run();
  ASSERT_TRUE(ended);
  EXPECT_TRUE(ended->told_to_end);
  EXPECT_THAT(system.ran, testing::ElementsAre("scancel --signal=TERM 18"));
}

TEST_F(Attempting, WhoSaysSomethingIsLeftAlone) {
  RecoverySettings recovery;
  recovery.plan.stall_abort_seconds = 2;
  const auto end = watch(place_.run(
      "for i in $(seq 16); do echo $i >> out/rank-0000-n1.log; sleep 0.25; done", recovery));
  ASSERT_TRUE(end);
  EXPECT_EQ(end->stall, "");
  EXPECT_EQ(end->code, 0);
}

/// Slurm's signal was taken out of the script: the clock does it.
TEST_F(Attempting, TheClockAsksInTime) {
  const auto run = place_.run("trap 'exit 75' USR2; while :; do sleep 0.05; done",
                              command_recovery(3));  // 5 s of grace
  const auto end = watch(run, Clock::now() + seconds(8));
  ASSERT_TRUE(end);
  EXPECT_TRUE(end->time_is_short);
  EXPECT_EQ(end->code, 75);
  EXPECT_GT(seconds_since_start(), 2);
  EXPECT_LT(seconds_since_start(), 8);
}

/// Slurm's own may come a minute before its time, and they train on; anybody else's is heard.
TEST_F(Attempting, AnEarlyWarningWaitsForItsTime) {
  const auto run = place_.run("trap 'exit 75' USR2; touch ready; while :; do sleep 0.05; done",
                              command_recovery(3));  // 5 s of grace
  const std::string ready = place_.dir().path + "/ready";
  for (const bool near : {true, false}) {
    const SupervisorSignals blocked(SIGUSR2);
    std::filesystem::remove(ready);
    std::thread warning([&] {
      while (access(ready.c_str(), F_OK) != 0) usleep(10'000);
      kill(getpid(), SIGUSR2);
    });
    const auto began = Clock::now();
    const auto end = watch(run, began + (near ? seconds(11) : seconds(600)));
    warning.join();
    ASSERT_TRUE(end);
    EXPECT_EQ(end->code, 75);
    EXPECT_TRUE(end->time_is_short);
    EXPECT_EQ(Clock::now() - began > seconds(5), near);
  }
}

/// Its peers have nothing to save: they would only wait, even through TERM. Of a command they may.
TEST_F(Attempting, WhereARankOfATrainingIsGoneTheOthersAreKilled) {
  constexpr const char* rank_left =
      "' >&2; export DLLAUNCH_RUN_DIR=$PWD SLURM_JOB_ID=17; "
      "bash -c \"trap '' TERM; sleep 60 & wait\"; "
      "echo 'srun: error: n1: task 0: Killed' >&2; exit 137";
  for (const char* gone :
       {"srun: error: n2: task 1: Segmentation fault", "srun: error: Node failure on n2"}) {
    auto recovery = command_recovery(3);
    recovery.trains = true;
    auto run = place_.run(std::string("echo '") + gone + rank_left, recovery);
    run.allocation.job = "17";
    const auto end = watch(run);
    ASSERT_TRUE(end);
    EXPECT_LT(end->seconds, 50) << "until rank 0 ends by itself";
    EXPECT_THAT(end->output, HasSubstr("task 0: Killed"));
    EXPECT_EQ(end->before_kill, std::string(gone) + "\n");
    const auto attempt = classify_exit(*end);
    const bool node = attempt.cause == Cause::lost_node;
    EXPECT_EQ(describe(attempt),
              node ? "lost node n2" : "rank 1 on n2 was killed by signal 11 (SIGSEGV)");
    EXPECT_EQ(attempt.dead_seen_s > 0, !node);
  }
}

TEST_F(Attempting, WhereARankOfACommandDiedTheOthersMaySave) {
  const auto end = watch(place_.run("echo 'srun: error: n2: task 1: Killed' >&2; sleep 4; exit 137",
                                    command_recovery(3)));
  ASSERT_TRUE(end);
  EXPECT_GT(end->seconds, 3.9);
  EXPECT_EQ(end->before_kill, "");
  EXPECT_GT(classify_exit(*end).dead_seen_s, 0);
}

/// A rank that wrote to a dead one dies of SIGPIPE, and srun may name it first.
TEST_F(Attempting, AnEchoIsGivenTimeForItsCause) {
  auto recovery = command_recovery(3);
  recovery.trains = true;
  const std::string echo = "echo 'srun: error: n1: task 0: Broken pipe' >&2; ";
  const std::string cause = "sleep 2; echo 'srun: error: n2: task 1: Killed' >&2; ";
  const auto named = watch(place_.run(echo + cause + "exec sleep 60", recovery));
  ASSERT_TRUE(named);
  EXPECT_THAT(named->before_kill, HasSubstr("task 1: Killed"));
  EXPECT_LT(named->seconds, 30);
  const auto alone = watch(place_.run(echo + "exec sleep 60", recovery));
  ASSERT_TRUE(alone);
  EXPECT_EQ(classify_exit(*alone).dead.signal, SIGPIPE);
  EXPECT_LT(alone->seconds, 30) << "a cause that does not come is not waited for";
  EXPECT_EQ(alone->code, 128 + SIGKILL) << "nor a starter that does not end";
}

/// A command that may not handle the signal is not sent it: the default action is to terminate.
TEST_F(Attempting, ACommandIsNotSentASignalItMayNotKnow) {
  auto run = place_.run("sleep 1; exit 3", {});
  const SupervisorSignals blocked(SIGUSR2);
  kill(getpid(), SIGUSR2);
  const auto end = watch(run);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->code, 3);
  EXPECT_FALSE(end->time_is_short) << "it ended as it would have without the signal";
}

TEST_F(Attempting, WhereTheWarningIsTermTheClockTellsItFromACancel) {
  auto run = place_.run("exec sleep 30", command_recovery(3));  // 5 s of grace
  run.signal = SIGTERM;
  for (const bool near : {true, false}) {
    const SupervisorSignals blocked(SIGTERM);
    kill(getpid(), SIGTERM);
    const auto end = watch(run, Clock::now() + (near ? seconds(6) : seconds(600)));
    ASSERT_TRUE(end);
    EXPECT_EQ(end->time_is_short, near);
    EXPECT_EQ(end->told_to_end, !near);
    EXPECT_EQ(end->code, 128 + SIGTERM);
  }
}

TEST_F(Attempting, WhatIsLeftIsForTrainingToo) {
  const auto run =
      place_.run("trap 'exit 75' USR2; while :; do sleep 0.05; done", command_recovery(3));
  const auto end = watch(run, Clock::now() + seconds(5));
  ASSERT_TRUE(end);
  EXPECT_EQ(end->code, 75);
  EXPECT_GT(seconds_since_start(), 2);
  EXPECT_LT(seconds_since_start(), 5);
}

/// A user cancels the job while its ranks save: it must not be requeued.
TEST_F(Attempting, ACancelAfterTheWarningIsACancel) {
  const auto run =
      place_.run("trap '' USR2; touch ready; while :; do sleep 0.05; done", command_recovery(3));
  const SupervisorSignals blocked(SIGUSR2);
  std::thread person([&] {
    while (access((place_.dir().path + "/ready").c_str(), F_OK) != 0) usleep(10'000);
    kill(getpid(), SIGUSR2);
    usleep(1'500'000);
    kill(getpid(), SIGTERM);
  });
  const auto end = watch(run, Clock::now() + seconds(600));
  person.join();
  ASSERT_TRUE(end);
  EXPECT_TRUE(end->time_is_short);
  EXPECT_TRUE(end->told_to_end);
  EXPECT_EQ(classify_exit(*end).cause, Cause::cancelled);
}

/// Killed by Slurm it would not come back: so it is ended before.
TEST_F(Attempting, WhoDoesNotAnswerIsEndedBeforeTheLimit) {
  auto recovery = command_recovery(3);
  recovery.grace_seconds = 15;  // a third of it is for the end
  const auto run = place_.run("trap '' USR2; while :; do sleep 0.05; done", recovery);
  const auto end = watch(run, Clock::now() + seconds(16));
  ASSERT_TRUE(end);
  EXPECT_TRUE(end->time_is_short);
  EXPECT_EQ(classify_exit(*end).cause, Cause::time_limit);
  EXPECT_LT(seconds_since_start(), 16);
}

/// Slurm knows nothing of n2 yet; its daemon, at a port where nobody listens, accepts no
/// connection.
class NodesOfSlurm : public HangingAutopsy {
 public:
  explicit NodesOfSlurm(const std::string& autopsy) : HangingAutopsy(autopsy) {}
  Result<CommandOutput> run(const std::vector<std::string>& argv,
                            std::chrono::milliseconds) override {
    const bool of_nodes = std::ranges::find(argv, "node") != argv.end();
    if (of_nodes && answers_-- <= 0) return Error{ErrorKind::timeout, "no answer", ""};
    return CommandOutput{0, of_nodes ? n2_ : "", ""};
  }
  void answer_once(int port_of_n3) {
    n2_ += fmt::format("\nNodeName=n3 NodeAddr=127.0.0.1 Port={} State=ALLOCATED\n", port_of_n3);
    answers_ = 1;
  }
  void lose_n2() { n2_ = "NodeName=n2 NodeAddr=127.0.0.1 Port=1 State=ALLOCATED\n"; }

 private:
  std::string n2_ = "NodeName=n2 State=ALLOCATED\n";
  int answers_ = std::numeric_limits<int>::max();
};

class OnSilentNodes : public Attempting {
 protected:
  SupervisedRun by_srun(const std::string& script, bool again = true) const {
    auto run = place_.run(script, {.trains = true});
    run.start = start_command_of({"srun", "-c", run.start.argv().back()});
    run.allocation = {.job = "17", .nodes = "n[1-2]", .host = "n1"};
    run.again = again;
    return run;
  }
  StarterExit ended(const SupervisedRun& run) {
    const SupervisorSignals signals(SIGUSR2);
    AllocationEnd end;
    const AttemptHooks hooks = {
        .each_turn =
            [this] {
              const auto dir = place_.dir().path;
              if (std::filesystem::exists(dir + "/hanging")) system_.lose_n2();
              const auto starter = read_file_text(dir + "/starter");
              if (starter && !starter->empty() && kill(std::stoi(*starter), 0) != 0)
                ++turns_after_the_end_;
            },
        .waits = [this](const std::string& what) { waits_.push_back(what); },
        .patience = {.start = std::chrono::milliseconds(100),
                     .node = std::chrono::milliseconds(200),
                     .busy_nodes = std::chrono::milliseconds(500),
                     .look = std::chrono::milliseconds(50)}};
    AttemptWatch watch(system_, run, ownership_, signals, end, hooks);
    const auto end_of_run = watch.run();
    EXPECT_TRUE(end_of_run);
    return end_of_run ? *end_of_run : StarterExit{};
  }

  static constexpr const char* delayed =
      "echo 'srun: Job 17 step creation temporarily disabled, retrying (Requested nodes are "
      "busy)' >&2; ";
  NodesOfSlurm system_ = NodesOfSlurm(place_.dir().path + "/hangs");
  std::vector<std::string> waits_;
  int turns_after_the_end_ = 0;  // of a script that wrote its number
};

TEST_F(OnSilentNodes, AStartThatWaitsForASilentNodeIsEndedAndSaysForWhat) {
  system_.lose_n2();
  const auto end = ended(by_srun(std::string(delayed) + "exec sleep 300"));
  const auto attempt = classify_exit(end);
  EXPECT_EQ(attempt.cause, Cause::not_started);
  EXPECT_EQ(describe(attempt), "the ranks cannot be started: node n2 does not answer");
  ASSERT_FALSE(waits_.empty());
  EXPECT_EQ(waits_.front(),
            "Slurm does not start the ranks (Requested nodes are busy); node n2 does not answer");
}

TEST_F(OnSilentNodes, AStartThatBusyNodesDelayIsEndedOnlyIfTheRanksRanThereBefore) {
  const auto again = classify_exit(ended(by_srun(std::string(delayed) + "exec sleep 300")));
  EXPECT_EQ(again.cause, Cause::not_started);
  EXPECT_TRUE(is_delay(again));
  EXPECT_THAT(describe(again), HasSubstr("Slurm has delayed them for"));
  EXPECT_THAT(waits_.front(), HasSubstr("squeue --steps --job=17"));
  waits_.clear();
  const auto first = ended(by_srun(std::string(delayed) + "sleep 3; exit 5", /*again=*/false));
  EXPECT_EQ(first.code, 5);
  EXPECT_EQ(first.not_started, "");
  EXPECT_FALSE(waits_.empty());
}

TEST_F(OnSilentNodes, AStepThatWasCreatedIsNotDelayed) {
  system_.lose_n2();
  const auto end = ended(by_srun(std::string(delayed) +
                                 "echo 'srun: Step created for StepId=17.1' >&2; sleep 2; exit 5"));
  EXPECT_EQ(end.code, 5);
  EXPECT_TRUE(waits_.empty());
}

TEST_F(OnSilentNodes, ATrainingThatStallsWithASilentNodeHasLostIt) {
  system_.lose_n2();
  const auto end = ended(
      by_srun(R"(echo '{"time": 1, "event": "stall", "seconds": 2, "line": "x", "state": "late"}' )"
              R"(>> events.jsonl; exec sleep 300)"));
  const auto attempt = classify_exit(end);
  EXPECT_EQ(attempt.cause, Cause::lost_node);
  EXPECT_EQ(describe(attempt), "lost node n2");
  ASSERT_FALSE(waits_.empty());
  EXPECT_EQ(waits_.front(), "node n2 does not answer, and the ranks make no progress");
}

/// Ranks that were asked to stop wait in their last barrier for the node's.
TEST_F(OnSilentNodes, ATrainingThatWasStoppedAndDoesNotLeaveHasLostItsSilentNode) {
  system_.lose_n2();
  const auto end = ended(
      by_srun(R"(echo '{"time": 1, "event": "end", "status": "cancelled"}' >> events.jsonl; )"
              R"(echo '{"time": 1, "event": "stall", "seconds": 2, "line": "x", "state": "late"}' )"
              R"(>> events.jsonl; exec sleep 300)"));
  EXPECT_EQ(describe(classify_exit(end)), "lost node n2");
}

TEST_F(OnSilentNodes, ANodeThatIsLostWhileTheControllerIsSilentIsFoundByItsAddress) {
  const int n3 = listen_on(0);
  system_.lose_n2();
  system_.answer_once(port_of(n3));  // of where the daemons listen, before the stall
  const auto end =
      ended(by_srun(R"(sleep 2; echo '{"time": 1, "event": "stall", "seconds": 2, "line": "x", )"
                    R"("state": "late"}' >> events.jsonl; exec sleep 300)"));
  close(n3);
  EXPECT_EQ(describe(classify_exit(end)), "lost node n2");
}

/// They do not come: 10 s would be waited for them, a hundred turns.
TEST_F(OnSilentNodes, StacksAreNotWaitedFor) {
  hanging_autopsy(place_);
  auto run =
      by_srun(stall_with_stacks + std::string("say 'gave up'; echo $$ > starter; exec sleep 300"));
  run.recovery.plan = {.stall_abort_seconds = 2, .autopsy = true};
  EXPECT_EQ(describe(classify_exit(ended(run))), "lost node n2");
  EXPECT_EQ(turns_after_the_end_, 0);
}

TEST(AllocationEnd, AClockThatSaysItIsOverIsNotBelieved) {
  JobAllocation allocation{.job = "17"};
  EXPECT_FALSE(AllocationEnd(allocation, 1000).at());
  allocation.end_s = 1100;
  EXPECT_TRUE(AllocationEnd(allocation, 1000).at());
  EXPECT_FALSE(AllocationEnd(allocation, 1200).at());
}

/// `scontrol update TimeLimit`, in both directions.
TEST(AllocationEnd, IsAskedForAgain) {
  FakeSystem system;
  const auto says = [&](const std::string& end) {
    system.answers["scontrol show job 17"] = {0, "JobId=17 JobName=a\n   EndTime=" + end + "\n",
                                              ""};
  };
  const std::string then = "2026-11-22T11:00:00";
  const auto then_s = static_cast<double>(parse_slurm_time(then).value_or(0));
  const JobAllocation allocation{.job = "17", .end_s = then_s};
  AllocationEnd end(allocation, then_s - 100);
  end.ask_again(system, allocation);
  EXPECT_NEAR(end.seconds_left().value_or(0), 100, 5) << "no answer";
  says("2026-11-22T11:10:00");
  end.ask_again(system, allocation);
  EXPECT_NEAR(end.seconds_left().value_or(0), 700, 5);
  end.ask_again(system, allocation);
  EXPECT_NEAR(end.seconds_left().value_or(0), 700, 5) << "added once";
  says("2026-11-22T11:01:00");
  end.ask_again(system, allocation);
  EXPECT_NEAR(end.seconds_left().value_or(0), 160, 5);
}

}  // namespace
}  // namespace dllaunch
