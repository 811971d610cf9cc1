#include "launcher/daemon/run_watch.hpp"

#include <gmock/gmock.h>
#include <pwd.h>

#include <condition_variable>
#include <mutex>
#include <thread>

#include "launcher/run/journal.hpp"
#include "tests/launcher/daemon/played_slurm.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class RunWatchTest : public PlayedSlurm {};

TEST_F(RunWatchTest, OneQuestionForAllRuns) {
  for (int i = 0; i < 5; ++i) add("r" + std::to_string(i), std::to_string(10 + i));
  look();
  EXPECT_EQ(ran("squeue"), 1);
  const auto seen = watch_->snapshot();
  EXPECT_EQ(seen->live.size(), 5u);
  EXPECT_EQ(seen->live[0].state, "running");
  EXPECT_EQ(seen->live[0].where, "n1");
  look(3);
  EXPECT_EQ(ran("squeue"), 4);
}

TEST_F(RunWatchTest, MakesNoQueriesWhenNothingRuns) {
  look(5);
  EXPECT_TRUE(place_.system.ran.empty());
  EXPECT_EQ(watch_->next_s(), now_s_ + 10);
}

TEST_F(RunWatchTest, ATimeoutWithACheckpointGoesOn) {
  const auto dir = add("r", "10");
  look();
  save_checkpoint(dir);
  jobs_["10"].state = "TIMEOUT";
  look();
  EXPECT_EQ(run("r").job_id, "100");
  EXPECT_EQ(run("r").submissions, 1);
  EXPECT_THAT(run("r").decision, HasSubstr("resumes from its checkpoint"));
  EXPECT_FALSE(fs::exists(dir + "/summary.json"));
  jobs_["100"].state = "RUNNING";
  look();
  EXPECT_EQ(run("r").state, "running");
  jobs_["100"].state = "COMPLETED";
  look(2);
  EXPECT_EQ(run("r").state, "completed");
  EXPECT_TRUE(run("r").over);
  EXPECT_EQ(ran("sbatch"), 1);
  EXPECT_TRUE(fs::exists(dir + "/summary.json")) << "no other process wrote one";
  EXPECT_TRUE(watch_->snapshot()->live.empty());
  look(2);
  EXPECT_EQ(ran("sh", "submitted") + ran("sh", "ended"), 2) << "each was told once";
}

TEST_F(RunWatchTest, ATimeoutWithoutIsGivenUp) {
  add("r", "10");
  look();
  jobs_["10"].state = "TIMEOUT";
  look(3);
  EXPECT_EQ(ran("sbatch"), 0);
  EXPECT_TRUE(run("r").over);
  EXPECT_THAT(run("r").decision, HasSubstr("would do so again"));
  EXPECT_EQ(ran("sh", "gave_up"), 1);
}

TEST_F(RunWatchTest, ThreeLostNodesWithoutACheckpointAreEnough) {
  add("r", "10");
  look();
  std::string id = "10";
  for (int i = 0; i < 5; ++i) {
    jobs_[id].state = "NODE_FAIL";
    look();
    if (run("r").over) break;
    id = run("r").job_id;
    jobs_[id].state = "RUNNING";
    look();
  }
  EXPECT_EQ(ran("sbatch"), 2);
  EXPECT_THAT(run("r").decision, HasSubstr("3 jobs in a row"));
}

TEST_F(RunWatchTest, ExitCode93AndAnOwnFailureAreFinal) {
  for (const char* code : {"93:0", "1:0"}) {
    const std::string name = std::string("r") + code[0];
    const auto dir = add(name, code[0] == '9' ? "10" : "11");
    look();
    save_checkpoint(dir);
    jobs_[run(name).job_id] = {.state = "FAILED", .nodes = "n1", .exit = code};
    look(2);
    EXPECT_TRUE(run(name).over);
    EXPECT_EQ(ran("sbatch"), 0) << run(name).decision;
  }
}

/// More than one round can look at, and the first of them finds nobody to ask.
TEST_F(RunWatchTest, AfterAnAbsenceOneNotificationCounts) {
  for (int i = 0; i < 30; ++i) {
    const auto id = std::to_string(10 + i);
    add("r" + id, id);
    jobs_[id].state = i < 4 ? "OUT_OF_MEMORY" : "COMPLETED";
  }
  save_checkpoint(add("again", "50"));
  jobs_["50"].state = "TIMEOUT";
  silent_ = true;
  look(2);
  EXPECT_EQ(ran("sh"), 0);
  silent_ = false;
  look(8);
  ASSERT_EQ(ran("sh"), 1);
  EXPECT_EQ(ran("sh", "several"), 1);
  EXPECT_EQ(ran("sh",
                "31 runs while no daemon ran: 26 completed, 4 out_of_memory, 1 submitted again; "
                "dllaunch ps lists them"),
            1);
  EXPECT_TRUE(store_->notices(1)->empty());
  jobs_[run("again").job_id].state = "COMPLETED";
  look(2);
  EXPECT_EQ(ran("sh", "ended"), 1) << "what it sees itself it tells one by one";
}

TEST_F(RunWatchTest, AJobThatTheSystemCancelledIsSubmittedOnce) {
  const auto* system = getpwnam("slurm");
  if (system == nullptr) GTEST_SKIP() << "no user slurm here; the tests' own user may be root";
  const auto dir = add("r", "10");
  look();
  std::string id = "10";
  for (int i = 0; i < 2; ++i) {
    save_checkpoint(dir);
    // Its supervisor was asked to stop, and wrote that down.
    const JournalDecision stop{
        .job = id, .reason = "asked to stop", .status = RunStatus::cancelled};
    ASSERT_TRUE(append_to_journal({.path = dir}, line_of(stop, std::nullopt)));
    jobs_[id] = {.state = "CANCELLED", .by = std::to_string(system->pw_uid)};
    look(2);
    EXPECT_EQ(ran("sbatch"), 1) << run("r").decision;
    id = run("r").job_id;
  }
  EXPECT_TRUE(run("r").over);
  EXPECT_THAT(run("r").decision, HasSubstr("the system cancelled it again"));
}

TEST_F(RunWatchTest, WhoCancelledDecides) {
  const auto dir = add("mine", "10");
  add("theirs", "11");
  look();
  jobs_["10"] = {
      .state = "CANCELLED", .nodes = "n1", .exit = "0:0", .by = std::to_string(geteuid())};
  // Where the tests run as root, root is the user.
  jobs_["11"] = {.state = "CANCELLED", .nodes = "n1", .exit = "0:0", .by = ""};
  look(2);
  EXPECT_EQ(run("mine").state, "cancelled");
  EXPECT_TRUE(run("mine").over);
  EXPECT_TRUE(run("theirs").over);
  EXPECT_EQ(ran("sbatch"), 0);
}

TEST_F(RunWatchTest, WhatEndedBeforeItsFirstDayIsLeftAlone) {
  store_ = *Store::open(place_.path_of("later.db"), 4e9);
  watch_ = std::make_unique<RunWatch>(place_.system, *store_,
                                      DaemonPaths{.folder = place_.path_of("")}, DaemonSettings{});
  save_checkpoint(add("old", "10"));
  jobs_["10"].state = "TIMEOUT";
  const auto dir = add("going", "11");
  look(2);
  EXPECT_EQ(ran("sbatch"), 0);
  EXPECT_TRUE(run("old").over);
  EXPECT_FALSE(run("going").over) << "that one it has seen alive";
  save_checkpoint(dir);
  jobs_["11"].state = "TIMEOUT";
  look();
  EXPECT_EQ(ran("sbatch"), 1);
}

/// A daemon that dies and another: what was alive is looked after, what was decided is not again.
TEST_F(RunWatchTest, TheNextDaemonGoesOn) {
  save_checkpoint(add("a", "10"));
  add("b", "11");
  look();
  jobs_["11"].state = "TIMEOUT";
  look();
  const auto restart = [&] {
    watch_ = std::make_unique<RunWatch>(
        place_.system, *store_, DaemonPaths{.folder = place_.path_of("")}, DaemonSettings{});
  };
  restart();
  jobs_["10"].state = "TIMEOUT";
  look();
  EXPECT_EQ(run("a").job_id, "100");
  restart();
  look(3);
  EXPECT_EQ(ran("sbatch"), 1);
  EXPECT_TRUE(run("b").over);
}

TEST_F(RunWatchTest, NothingIsConcludedWhileSlurmIsSilent) {
  add("r", "10");
  look();
  silent_ = true;
  double pause = 0;
  for (int i = 0; i < 4; ++i) {
    look();
    EXPECT_GT(watch_->next_s() - now_s_, pause);
    pause = watch_->next_s() - now_s_;
  }
  EXPECT_FALSE(run("r").over);
  EXPECT_EQ(run("r").state, "running");
  EXPECT_FALSE(watch_->snapshot()->slurm.answers);
  silent_ = false;
  look();
  EXPECT_TRUE(watch_->snapshot()->slurm.answers);
  EXPECT_EQ(watch_->next_s(), now_s_ + 10);
}

TEST_F(RunWatchTest, ANodeThatFailsTwiceIsLeftOut) {
  add("r", "10");
  nodes_ =
      "NodeName=n1 State=DOWN+NOT_RESPONDING CPUTot=1\n"
      "NodeName=n2 State=IDLE+POWER_DOWN CPUTot=1\n";
  for (const char* id : {"10", "11"}) {
    if (id == std::string("11")) add("s", "11");
    look();
    jobs_[id].state = "PENDING";  // requeued by Slurm itself
    look();
    EXPECT_EQ(ran("scontrol", "ExcNodeList=n1"), id == std::string("11") ? 1 : 0);
    jobs_[id].state = "RUNNING";
  }
  EXPECT_EQ(ran("sbatch"), 0);
  EXPECT_THAT(run("s").decision, HasSubstr("left out: n1"));
}

TEST_F(RunWatchTest, ManyEndsAreSpreadOverRounds) {
  for (int i = 0; i < 30; ++i) add("r" + std::to_string(i), std::to_string(10 + i));
  look();
  for (auto& [id, job] : jobs_) job.state = "COMPLETED";
  const int before = ran("scontrol");
  look();
  EXPECT_LE(ran("scontrol") - before, 8);
  look(4);
  EXPECT_TRUE(watch_->snapshot()->live.empty());
}

TEST_F(RunWatchTest, ProgressIsSeenButNotStored) {
  const auto dir = add("r", "10");
  look();
  place_.append(dir, "events.jsonl",
                R"({"time": 9e9, "event": "step", "epoch": 2, "step": 30, "loss": 0.5, )"
                R"("images_per_s": 100})"
                "\n");
  look();
  const auto seen = watch_->snapshot()->live.at(0);
  EXPECT_EQ(seen.step, 30);
  EXPECT_EQ(seen.loss, 0.5);
  EXPECT_EQ(run("r").step, 0) << "the events have it";
  jobs_["10"].state = "COMPLETED";
  look();
  EXPECT_EQ(run("r").step, 30);
}

/// Its list shows what earlier runs came to, without reading their events.
TEST_F(RunWatchTest, OfWhatWasOverBeforeItTheSummaryTells) {
  store_ = *Store::open(place_.path_of("later.db"), 4e9);
  watch_ = std::make_unique<RunWatch>(place_.system, *store_,
                                      DaemonPaths{.folder = place_.path_of("")}, DaemonSettings{});
  std::ofstream(add("old", "10") + "/summary.json")
      << R"({"status": "completed", "seconds": 61.5, "epochs": 5, "val_accuracy": 0.75})";
  std::ofstream(add("odd", "11") + "/summary.json")
      << R"({"status": "completed", "seconds": "long", "epochs": 1e300, "val_accuracy": null})";
  look();
  EXPECT_EQ(run("old").seconds, 61.5);
  EXPECT_EQ(run("old").epoch, 5);
  EXPECT_EQ(run("old").val_accuracy, 0.75);
  EXPECT_TRUE(run("odd").over);
  EXPECT_EQ(run("odd").seconds, 0);
  EXPECT_EQ(run("odd").epoch, 0);
}

/// A mount that hangs holds neither the other runs nor, for longer than a moment, the round.
TEST_F(RunWatchTest, ARunWhoseDirectoryHangsIsLeftAndOthersGoOn) {
  struct Gate {
    std::mutex mutex;
    std::condition_variable opened;
    std::string shut;
  };
  const auto gate = std::make_shared<Gate>();
  watch_ = std::make_unique<RunWatch>(
      place_.system, *store_, DaemonPaths{.folder = place_.path_of("")}, DaemonSettings{},
      [gate](const std::string& path) -> std::optional<dev_t> {
        std::unique_lock lock(gate->mutex);
        const bool there = gate->opened.wait_for(lock, std::chrono::seconds(60),
                                                 [&] { return gate->shut != path; });
        return there ? std::optional(std::hash<std::string>()(path)) : std::nullopt;
      });
  const auto away = add("away", "10");
  const auto sound = add("sound", "11");
  look();
  {
    const std::lock_guard guard(gate->mutex);
    gate->shut = away;
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));
  for (const char* id : {"10", "11"}) jobs_[id].state = "NODE_FAIL";
  const auto begin = std::chrono::steady_clock::now();
  look(3);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
  EXPECT_EQ(run("sound").job_id, "100");
  EXPECT_EQ(run("away").job_id, "10");
  EXPECT_FALSE(run("away").over);
  EXPECT_EQ(run("away").reason, "its directory does not answer");
  EXPECT_FALSE(watch_->answers(away));
  {
    const std::lock_guard guard(gate->mutex);
    gate->shut.clear();
    gate->opened.notify_all();
  }
  for (int i = 0; i < 6000 && !watch_->answers(away); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  look();
  EXPECT_EQ(run("away").job_id, "101");
}

}  // namespace
}  // namespace dllaunch
