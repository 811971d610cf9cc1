#include "launcher/launch/slurm.hpp"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "launcher/os/stop_signals.hpp"
#include "launcher/plan/plan.hpp"
#include "launcher/run/job_record.hpp"
#include "launcher/run/journal.hpp"
#include "support/network/sockets.hpp"
#include "tests/launcher/disk_system.hpp"
#include "tests/support/fake_system.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

using namespace std::chrono_literals;

/// A Slurm that walks through a list of states, one a look.
class SlurmTest : public testing::Test {
 protected:
  SlurmTest() {
    std::filesystem::create_directories(run_.out());
    settings_.first_look = 1ms;
    settings_.longest_look = 2ms;
    settings_.longest_wait = 2ms;
    plan_.signal = "USR2";
    plan_.grace_seconds = 0;
    system_.respond = [this](const std::vector<std::string>& argv) { return answer(argv); };
  }

  std::optional<Result<CommandOutput>> answer(const std::vector<std::string>& argv) {
    if (argv[0] == "sbatch") return submit(argv);
    if (argv[0] == "squeue" && argv.back() == "--format=%i|%k|%o") return tell_comments();
    if (argv[0] == "scancel") {
      if (argv.size() == 2) queue_ = {};
      return Result<CommandOutput>(CommandOutput{});
    }
    if (argv[0] == "scontrol" && argv[2] == "node")
      return Result<CommandOutput>(CommandOutput{0, node_, ""});
    if (argv[0] == "scontrol") return Result<CommandOutput>(CommandOutput{0, end_, ""});
    if (argv[0] != "squeue") return std::nullopt;
    const std::size_t at = std::min(looks_++, queue_.empty() ? 0 : queue_.size() - 1);
    const std::string line = queue_.empty() ? "" : queue_[at];
    if (line == "INT") raise(SIGINT);
    if (line == "HUP") raise(SIGHUP);
    if (line == "down")
      return Result<CommandOutput>(CommandOutput{1, "", "Unable to contact slurm controller"});
    if (line == "INT" || line == "HUP") return Result<CommandOutput>(CommandOutput{0, running, ""});
    return Result<CommandOutput>(CommandOutput{0, line, ""});
  }

  /// Says what sbatch_ is, whatever becomes of the job; its token is kept.
  Result<CommandOutput> submit(const std::vector<std::string>& argv) {
    constexpr std::string_view option = "--comment=";
    for (const auto& word : argv)
      if (word.starts_with(option)) comment_ = word.substr(option.size());
    return sbatch_;
  }
  Result<CommandOutput> tell_comments() const {
    if (comments_ == Comments::silent)
      return CommandOutput{1, "", "Unable to contact slurm controller"};
    return CommandOutput{0, comments_ == Comments::lost ? "" : "5|" + comment_ + "|/x\n", ""};
  }

  Result<Outcome> execute() {
    Follower follower(system_, run_, {});
    return execute_slurm(plan_, run_, follower, system_, settings_);
  }

  bool ran(const std::vector<std::string>& argv) const {
    return std::find(system_.ran.begin(), system_.ran.end(), argv) != system_.ran.end();
  }

  static constexpr const char* pending = "5|PENDING|2026-11-20T20:07:21|0:00||Priority\n";
  static constexpr const char* running = "5|RUNNING|2026-11-20T20:07:21|0:05|n[1-2]|None\n";
  /// Slurm's times are later than the record of the submission.
  static constexpr const char* completed =
      "JobId=5 JobName=x\n   JobState=COMPLETED Reason=None\n   ExitCode=0:0\n"
      "   SubmitTime=2037-11-20T19:57:20 StartTime=2037-11-20T19:57:20\n";

  TemporaryFolder folder_;
  RunDir run_{.path = folder_.path()};
  LaunchPlan plan_;
  FakeSystem system_;
  SlurmSettings settings_;
  std::vector<std::string> queue_;
  std::string node_ = "NodeName=n2 State=COMPLETING\n";
  std::string end_ = completed;
  std::size_t looks_ = 0;
  Result<CommandOutput> sbatch_ = CommandOutput{0, "5\n", ""};
  std::string comment_;
  enum class Comments { told, lost, silent } comments_ = Comments::told;
};

const CommandOutput timed_out{
    1, "", "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation"};

/// A wrapper, or sbatch itself, that fails after the controller took the job.
TEST_F(SlurmTest, AnSbatchThatFailsAfterItSubmittedIsNotRepeated) {
  sbatch_ = timed_out;
  queue_ = {running, ""};
  const auto outcome = execute();
  ASSERT_TRUE(outcome) << outcome.error().what;
  EXPECT_EQ(outcome->status, RunStatus::completed);
  EXPECT_NE(system_.logged.find("submitted job 5\n"), std::string::npos) << system_.logged;
  EXPECT_FALSE(std::filesystem::exists(run_.path + "/job.intent"));
}

TEST_F(SlurmTest, WhereSlurmKnowsNoSuchJobItWasNotSubmitted) {
  sbatch_ = timed_out;
  comments_ = Comments::lost;
  settings_.settle = 1ms;
  const auto outcome = execute();
  ASSERT_FALSE(outcome);
  EXPECT_NE(outcome.error().what.find("Socket timed out"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(run_.path + "/job.intent"));
}

TEST_F(SlurmTest, WhereSlurmIsSilentTheNextStartLooksFirst) {
  sbatch_ = timed_out;
  comments_ = Comments::silent;
  settings_.settle = 1ms;
  ASSERT_FALSE(execute());
  DiskSystem disk;
  disk.respond = system_.respond;
  EXPECT_FALSE(job_of_open_intent(run_, disk, settings_)) << "still silent";
  comments_ = Comments::told;
  const auto found = job_of_open_intent(run_, disk, settings_);
  ASSERT_TRUE(found) << found.error().what;
  EXPECT_EQ(*found, "5");
  EXPECT_EQ(*disk.read_file(run_.job_id()), "5\n");
  EXPECT_FALSE(*job_of_open_intent(run_, disk, settings_)) << "once";
}

// squeue lists them in any order.
TEST_F(SlurmTest, ComponentsAreShownInTheirOrder) {
  const auto component = [](int number) {
    return fmt::format("5+{0}|RUNNING|2026-11-20T20:07:21|0:05|n{0}|None\n", number);
  };
  queue_ = {component(10) + component(2) + component(0), ""};
  const auto outcome = execute();
  ASSERT_TRUE(outcome) << outcome.error().what;
  EXPECT_NE(system_.logged.find("job 5: running on n0,n2,n10\n"), std::string::npos)
      << system_.logged;
}

TEST_F(SlurmTest, ARefusalIsARefusal) {
  sbatch_ = CommandOutput{1, "", "sbatch: error: Batch job submission failed: Invalid account"};
  const auto outcome = execute();
  ASSERT_FALSE(outcome);
  EXPECT_EQ(system_.ran.size(), 1u) << "nothing is asked";
  EXPECT_FALSE(std::filesystem::exists(run_.path + "/job.intent"));
}

TEST_F(SlurmTest, AJobThatCanNeverStartIsTakenOut) {
  queue_ = {"5|PENDING|N/A|0:00||Dependency\n", "5|PENDING|N/A|0:00||DependencyNeverSatisfied\n"};
  end_ = "JobId=5 JobState=CANCELLED ExitCode=0:0\n";
  const auto outcome = execute();
  ASSERT_TRUE(outcome);
  EXPECT_TRUE(ran({"scancel", "5"}));
  EXPECT_EQ(outcome->status, RunStatus::cancelled);
  EXPECT_EQ(outcome->exit_code, 1);
  EXPECT_EQ(outcome->reason,
            "job 5 was removed from the queue: the job it waits for failed: it will never start "
            "(DependencyNeverSatisfied)");
}

TEST_F(SlurmTest, FollowsFromTheQueueToTheEnd) {
  queue_ = {pending, pending, running, running, ""};
  const auto outcome = execute();
  ASSERT_TRUE(outcome) << outcome.error().what;
  EXPECT_EQ(outcome->status, RunStatus::completed);
  EXPECT_EQ(outcome->exit_code, 0);
  EXPECT_EQ(system_.logged,
            "submitted job 5\n"
            "job 5: jobs with higher priority are ahead (Priority), expected to start "
            "2026-11-20T20:07:21\n"
            "job 5: running on n[1-2]\n");
  EXPECT_TRUE(system_.files.empty());
  EXPECT_TRUE(std::filesystem::exists(run_.job_id()));
}

constexpr const char* completing = "5|COMPLETING|2026-11-20T20:07:21|0:05|n2|None\n";

/// Until Slurm misses a node that lost its power.
TEST_F(SlurmTest, ARunThatHasEndedDoesNotWaitForTheNodesOfItsJob) {
  settings_.completing_patience = 1ms;
  queue_ = {running, completing};  // for ever
  node_ = "NodeName=n2 State=DOWN+NOT_RESPONDING\n";
  end_ = "JobId=5 JobName=x\n   JobState=COMPLETING Reason=None\n   ExitCode=0:0\n";
  JournalDecision last{.time = 1, .job = "5", .status = RunStatus::completed, .exit_code = 0};
  ASSERT_TRUE(append_to_journal(run_, line_of(last, {})));
  auto outcome = execute();
  ASSERT_TRUE(outcome) << outcome.error().what;
  EXPECT_EQ(outcome->status, RunStatus::completed);
  EXPECT_THAT(system_.logged, testing::HasSubstr("job 5: has ended; Slurm still waits for n2\n"));

  looks_ = 0;
  end_ = "JobId=5 JobName=x\n   JobState=COMPLETING Reason=None\n   ExitCode=3:0\n";
  last = {.time = 2, .job = "5", .reason = "rank 1 exited with code 3", .exit_code = 3};
  ASSERT_TRUE(append_to_journal(run_, line_of(last, {})));
  outcome = execute();
  ASSERT_TRUE(outcome) << outcome.error().what;
  EXPECT_EQ(outcome->status, RunStatus::failed);
  EXPECT_EQ(outcome->exit_code, 3);
  EXPECT_EQ(outcome->reason, "job 5: rank 1 exited with code 3");
}

/// A firewall between login and compute nodes: then only Slurm's word counts.
TEST_F(SlurmTest, NodesOfWhichNoneAnswersHereAreNoEvidence) {
  settings_.completing_patience = 0ms;
  const JournalDecision last{.time = 1, .job = "5", .status = RunStatus::completed};
  ASSERT_TRUE(append_to_journal(run_, line_of(last, {})));
  const int listener = listen_on(0);
  const auto nodes = [&](int port_of_n1) {
    return fmt::format(
        "NodeName=n1 State=IDLE NodeAddr=127.0.0.1 Port={}\n\n"
        "NodeName=n2 State=COMPLETING NodeAddr=127.0.0.1 Port=1\n",
        port_of_n1);
  };
  node_ = nodes(1);
  queue_ = {running, completing, ""};
  ASSERT_TRUE(execute());
  EXPECT_EQ(looks_, queue_.size()) << system_.logged;
  looks_ = 0;
  node_ = nodes(port_of(listener));
  ASSERT_TRUE(execute());
  EXPECT_THAT(system_.logged, testing::HasSubstr("job 5: has ended; Slurm still waits for n2\n"));
  close(listener);
}

/// Slurm has started the job again, and what its supervisor does then is not written yet.
TEST_F(SlurmTest, TheDecisionOfAnEarlierStartOfTheJobDoesNotCount) {
  settings_.completing_patience = 0ms;
  queue_ = {running, completing, completing, ""};
  node_ = "NodeName=n2 State=DOWN+NOT_RESPONDING\n";
  end_ = "JobId=5 JobName=x\n   JobState=COMPLETED Reason=None Restarts=1\n   ExitCode=0:0\n";
  const JournalDecision last{.time = 1, .job = "5", .status = RunStatus::completed};
  ASSERT_TRUE(append_to_journal(run_, line_of(last, {})));
  ASSERT_TRUE(execute());
  EXPECT_EQ(looks_, queue_.size()) << system_.logged;
}

TEST_F(SlurmTest, AnEpilogOnNodesThatAnswerIsWaitedFor) {
  settings_.completing_patience = 0ms;
  queue_ = {running, completing, completing, completing, ""};
  const JournalDecision last{.time = 1, .job = "5", .status = RunStatus::completed};
  ASSERT_TRUE(append_to_journal(run_, line_of(last, {})));
  ASSERT_TRUE(execute());
  EXPECT_EQ(looks_, queue_.size());
}

TEST_F(SlurmTest, ACompletingJobWhoseSupervisorDecidedNothingIsFollowed) {
  settings_.completing_patience = 0ms;
  queue_ = {running, completing, completing, completing, ""};
  JournalDecision last{.time = 1, .job = "5", .next = Next::requeue};
  ASSERT_TRUE(append_to_journal(run_, line_of(last, {})));
  ASSERT_TRUE(execute());
  EXPECT_EQ(looks_, queue_.size());
}

TEST_F(SlurmTest, ASilentControllerIsWaitedForAndSaidOnce) {
  queue_ = {running, "down", "down", "down", running, ""};
  const auto outcome = execute();
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->status, RunStatus::completed);
  const auto first = system_.logged.find("does not answer");
  EXPECT_NE(first, std::string::npos);
  EXPECT_EQ(system_.logged.find("does not answer", first + 1), std::string::npos);
  EXPECT_NE(system_.logged.find("answers again"), std::string::npos);
}

TEST_F(SlurmTest, ButNotForEver) {
  settings_.controller_patience = 50ms;
  queue_ = {"down"};
  const auto outcome = execute();
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().kind, ErrorKind::unavailable);
}

TEST_F(SlurmTest, WithoutATerminalASignalCancels) {
  queue_ = {running, "INT", running};
  end_ = "JobId=5 JobName=x\n   JobState=CANCELLED Reason=None\n   ExitCode=0:15\n";
  const auto outcome = execute();
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->status, RunStatus::cancelled);
  EXPECT_EQ(outcome->exit_code, 130);
  EXPECT_TRUE(ran({"scancel", "--batch", "--signal=TERM", "5"}));
  EXPECT_TRUE(ran({"scancel", "5"}));
}

TEST_F(SlurmTest, ACommandIsCancelledWithoutASignalItMayNotKnow) {
  plan_.asks_ranks = false;
  queue_ = {running, "INT", running};
  end_ = "JobId=5 JobName=x\n   JobState=CANCELLED Reason=None\n   ExitCode=0:15\n";
  ASSERT_TRUE(execute());
  EXPECT_FALSE(ran({"scancel", "--batch", "--signal=TERM", "5"}));
  EXPECT_TRUE(ran({"scancel", "5"}));
}

TEST_F(SlurmTest, OnATerminalItAsks) {
  int asked = 0;
  settings_.ask = [&] { return ++asked == 1 ? StopChoice::go_on : StopChoice::detach; };
  queue_ = {running, "INT", running, "INT", running};
  const auto outcome = execute();
  ASSERT_TRUE(outcome);
  EXPECT_TRUE(outcome->detached);
  EXPECT_EQ(asked, 2);
  EXPECT_FALSE(ran({"scancel", "5"}));
}

TEST_F(SlurmTest, AHangUpDetachesAlsoAfterAnAnsweredSignal) {
  int asked = 0;
  settings_.ask = [&] {
    ++asked;
    return StopChoice::go_on;
  };
  queue_ = {running, "INT", running, "HUP", running};
  const auto outcome = execute();
  ASSERT_TRUE(outcome);
  EXPECT_TRUE(outcome->detached);
  EXPECT_EQ(asked, 1);
}

/// What the question at a real terminal returns when `keys` are typed once it stands there, and
/// `early` before that.
StopChoice answer_at_terminal(const std::string& keys, const std::string& early = "") {
  int terminal = -1;
  const pid_t child = forkpty(&terminal, nullptr, nullptr, nullptr);
  if (child == 0) {
    const StopSignals signals;
    pollfd keyboard{STDIN_FILENO, POLLIN, 0};
    if (!early.empty()) poll(&keyboard, 1, -1);
    _exit(static_cast<int>(ask_at_terminal()));
  }
  const auto type = [&](const std::string& text) {
    EXPECT_EQ(write(terminal, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  };
  type(early);
  std::string seen;
  for (char c = 0; !seen.ends_with("[g]o on? ") && read(terminal, &c, 1) == 1;) seen += c;
  type(keys);
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  close(terminal);
  EXPECT_TRUE(WIFEXITED(status)) << keys;
  return static_cast<StopChoice>(WEXITSTATUS(status));
}

TEST(SlurmQuestion, OnlyAnAnswerCancels) {
  constexpr const char* ctrl_c = "\x03";
  constexpr const char* ctrl_d = "\x04";
  EXPECT_EQ(answer_at_terminal("c\n"), StopChoice::cancel);
  EXPECT_EQ(answer_at_terminal("d\n"), StopChoice::detach);
  for (const char* stay : {"\n", "g\n", "what\n"})
    EXPECT_EQ(answer_at_terminal(stay), StopChoice::go_on) << stay;
  for (const char* leave : {ctrl_c, ctrl_d})
    EXPECT_EQ(answer_at_terminal(leave), StopChoice::detach) << leave;
  EXPECT_EQ(answer_at_terminal("\n", "c\n"), StopChoice::go_on) << "typed before the question";
}

TEST_F(SlurmTest, AHangUpDetaches) {
  queue_ = {running, "HUP", running};
  const auto outcome = execute();
  ASSERT_TRUE(outcome);
  EXPECT_TRUE(outcome->detached);
}

TEST_F(SlurmTest, DetachReturnsWhenItIsSubmitted) {
  settings_.detach = true;
  const auto outcome = execute();
  ASSERT_TRUE(outcome);
  EXPECT_TRUE(outcome->detached);
  EXPECT_EQ(system_.ran.size(), 2u);
}

TEST_F(SlurmTest, TheJobOfARunWhileItIsThere) {
  EXPECT_FALSE(*job_of_run(plan_, run_, system_));
  system_.files[run_.job_id()] = "5\n";
  queue_ = {pending};
  const auto there = job_of_run(plan_, run_, system_);
  ASSERT_TRUE(there && *there);
  EXPECT_EQ((*there)->state, "PENDING");
  queue_ = {"5_[2-3]|PENDING|N/A|0:00||Priority\n"};
  EXPECT_EQ((*job_of_run(plan_, run_, system_))->id, "5");
  queue_ = {"5|COMPLETED|N/A|0:00||None\n"};
  EXPECT_FALSE(*job_of_run(plan_, run_, system_));
  queue_ = {""};
  EXPECT_FALSE(*job_of_run(plan_, run_, system_));
}

TEST_F(SlurmTest, AttachedLaterItFollowsToTheEnd) {
  queue_ = {running, ""};
  Follower follower(system_, run_, {.attached_at_s = 0});
  const auto outcome =
      attach_slurm(plan_, run_, identity_of(plan_, run_, "5"), follower, system_, settings_);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->status, RunStatus::completed);
  EXPECT_EQ(system_.ran[0][0], "squeue");
}

TEST_F(SlurmTest, CancelAsksTheRanksFirst) {
  settings_.cancel = true;
  queue_ = {running, running};
  end_ = "JobId=5 JobName=x\n   JobState=CANCELLED Reason=None\n   ExitCode=0:15\n";
  Follower follower(system_, run_, {.attached_at_s = 0});
  const auto outcome =
      attach_slurm(plan_, run_, identity_of(plan_, run_, "5"), follower, system_, settings_);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->status, RunStatus::cancelled);
  EXPECT_EQ(outcome->reason, "job 5 was cancelled");
  EXPECT_TRUE(ran({"scancel", "--batch", "--signal=TERM", "5"}));
  EXPECT_TRUE(ran({"scancel", "5"}));
}

TEST_F(SlurmTest, ARequeueBetweenTwoLooksIsTold) {
  // Never seen running before it went back: only Slurm's count tells.
  queue_ = {pending, "5|PENDING|2026-11-20T20:09:21|0:00||BeginTime\n", running, ""};
  const std::string once =
      "JobId=5 JobName=x\n   JobState=PENDING Reason=BeginTime\n   Restarts=1 ExitCode=0:0\n";
  end_ = once;
  settings_.first_look = 5ms;
  system_.respond = [&](const std::vector<std::string>& argv) {
    if (argv[0] == "scontrol") {
      const bool before = looks_ < 2;
      const std::string end = std::string(completed) + "   Restarts=1\n";
      return std::optional(Result<CommandOutput>(CommandOutput{0,
                                                               before                   ? completed
                                                               : looks_ < queue_.size() ? once
                                                                                        : end,
                                                               ""}));
    }
    return answer(argv);
  };
  const auto outcome = execute();
  ASSERT_TRUE(outcome);
  const auto back = system_.logged.find("job 5: back in the queue (restart 1)\n");
  ASSERT_NE(back, std::string::npos) << system_.logged;
  EXPECT_LT(back, system_.logged.find("job 5: running on n[1-2]\n"));
  EXPECT_EQ(system_.logged.find("back in the queue", back + 20), std::string::npos);
  EXPECT_EQ(outcome->restarts, 1);
}

TEST_F(SlurmTest, ARestartThatIsRunningAlreadyIsTold) {
  const std::string later = "5|RUNNING|2026-11-20T20:12:00|0:01|n2|None\n";
  queue_ = {running, running, later, later, ""};
  system_.respond = [&](const std::vector<std::string>& argv) {
    if (argv[0] == "scontrol" && looks_ > 2)
      return std::optional(
          Result<CommandOutput>(CommandOutput{0, std::string(completed) + "   Restarts=2\n", ""}));
    return answer(argv);
  };
  ASSERT_TRUE(execute());
  EXPECT_EQ(system_.logged,
            "submitted job 5\njob 5: running on n[1-2]\njob 5: was back in the queue, is running "
            "again (restart 2)\njob 5: running on n2\n");
}

TEST_F(SlurmTest, AnArrayIsToldByNumbers) {
  plan_.array = "0-4%2";
  queue_ = {
      "5_[2-4%2]|PENDING|N/A|0:00||JobArrayTaskLimit\n5_0|RUNNING|N/A|0:05|n1|None\n"
      "5_1|RUNNING|N/A|0:05|n2|None\n",
      "5_4|RUNNING|N/A|0:05|n1|None\n", ""};
  end_ =
      "JobId=5 ArrayJobId=5 ArrayTaskId=4 JobName=x\n   JobState=COMPLETED Reason=None\n"
      "   ExitCode=0:0\n\n"
      "JobId=6 ArrayJobId=5 ArrayTaskId=0 JobName=x\n   JobState=FAILED Reason=NonZeroExitCode\n"
      "   ExitCode=7:0\n\n"
      "JobId=7 ArrayJobId=5 ArrayTaskId=1 JobName=x\n   JobState=TIMEOUT Reason=TimeLimit\n"
      "   ExitCode=0:15\n";
  const auto outcome = execute();
  ASSERT_TRUE(outcome);
  EXPECT_EQ(system_.logged,
            "submitted job 5\njob 5: 2 tasks running, 3 waiting, 0 over\n"
            "job 5: 1 task running, 0 waiting, 4 over\n");
  EXPECT_EQ(outcome->status, RunStatus::failed);
  EXPECT_EQ(outcome->exit_code, 1);
  EXPECT_EQ(outcome->reason,
            "job 5: 2 of 3 tasks did not complete: 0 (failed), 1 (timeout); job "
            "5_0 exited with code 7");
  EXPECT_EQ(outcome->others,
            (std::vector<std::string>{"task 1: reached its time limit, the partition's default"}));
}

}  // namespace
}  // namespace dllaunch
