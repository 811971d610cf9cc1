#include "launcher/daemon/run_watch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "tests/launcher/stored_runs.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

/// A Slurm of jobs by their number, and the daemon's rounds over them.
class RunWatchTest : public testing::Test {
 protected:
  struct Job {
    std::string state = "RUNNING";
    std::string nodes = "n1";
    std::string exit = "0:0";
    std::string by = {};  // uid
  };

  void SetUp() override {
    store_ = *Store::open(place_.path_of("store.db"), 1);
    place_.world.programs = {"sbatch", "squeue", "sacct", "scontrol", "scancel", "sh"};
    place_.world.respond = [this](const auto& argv) { return slurm(argv); };
    watch_ =
        std::make_unique<RunWatch>(place_.world, *store_, DaemonPlace{.folder = place_.path_of("")},
                                   DaemonSettings{.notify = "tell"});
  }

  std::optional<Result<CommandOutput>> slurm(const std::vector<std::string>& argv) {
    const auto answer = [](const std::string& text) {
      return Result<CommandOutput>(CommandOutput{.exit_code = 0, .out = text, .err = ""});
    };
    const bool asks_jobs = argv[0] == "squeue" || (argv[0] == "scontrol" && argv[1] == "show");
    if (silent_ && asks_jobs)
      return CommandOutput{.exit_code = 1, .out = "", .err = "Unable to contact slurm controller"};
    if (argv[0] == "squeue") return answer(queue(argv.back()));
    if (argv[0] == "sbatch") {
      const auto id = std::to_string(next_++);
      jobs_[id] = {.state = "PENDING"};
      if (loses_answers_) return Error{ErrorKind::timeout, "sbatch did not end within 60 s", ""};
      return answer(id + "\n");
    }
    if (argv[0] == "scontrol" && argv[1] == "show" && argv[2] == "job") return answer(job(argv[3]));
    if (argv[0] == "scontrol" && argv[1] == "--oneliner") return answer(nodes_);
    if (argv[0] == "scontrol" || argv[0] == "scancel") return answer("");
    if (argv[0] == "sacct") return answer(accounting());
    if (argv[0] == "sh") return answer("");
    return std::nullopt;
  }
  /// `which`: "--me" or "--jobs=10"
  std::string queue(const std::string& which) const {
    std::string text;
    for (const auto& [id, job] : jobs_)
      if ((which == "--me" || which == "--jobs=" + id) &&
          (job.state == "RUNNING" || job.state == "PENDING"))
        text += id + "|" + job.state + "|N/A|0:05|" + (job.state == "RUNNING" ? job.nodes : "") +
                "|None\n";
    return text;
  }
  std::string job(const std::string& id) {
    const auto& one = jobs_[id];
    return "JobId=" + id + " JobName=x\n   JobState=" + one.state +
           " Reason=None\n   ExitCode=" + one.exit + "\n   NodeList=" + one.nodes + "\n";
  }
  std::string accounting() const {
    std::string text;
    for (const auto& [id, one] : jobs_)
      text += id + "|" + one.state + (one.by.empty() ? "" : " by " + one.by) + "|" + one.exit +
              "|Unknown|Unknown|Unknown\n";
    return text;
  }

  std::string add(const std::string& folder, const std::string& id, const std::string& more = "") {
    const auto dir = place_.store({.folder = folder, .job_id = id, .trains = true});
    std::ofstream(dir + "/job.sbatch") << "#!/bin/bash\n" << more << "\ntrue\n";
    std::ofstream(dir + "/job.yaml") << "name: x\ntrain: {model: lenet, dataset: {kind: synthetic, "
                                        "images: 64, classes: 10, channels: 1, image_size: 28}}\n";
    jobs_[id] = {};
    return dir;
  }
  static void save_checkpoint(const std::string& dir) {
    fs::create_directories(dir + "/checkpoints/step-00000001");
    fs::last_write_time(dir + "/checkpoints/step-00000001",
                        fs::file_time_type::clock::now() + std::chrono::seconds(5));
  }
  void look(int times = 1) {
    for (int i = 0; i < times; ++i) watch_->look(now_s_ += 10);
  }
  RunRecord run(const std::string& name) { return **store_->find(name); }
  int ran(const std::string& program, const std::string& word = "") const {
    int count = 0;
    for (const auto& argv : place_.world.ran)
      if (argv[0] == program &&
          (word.empty() || std::find(argv.begin(), argv.end(), word) != argv.end()))
        ++count;
    return count;
  }

  RunPlace place_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<RunWatch> watch_;
  std::map<std::string, Job> jobs_;
  std::string nodes_;
  bool silent_ = false;
  bool loses_answers_ = false;
  int next_ = 100;
  double now_s_ = 2e9;
};

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

TEST_F(RunWatchTest, NobodyIsAskedWhenNothingRuns) {
  look(5);
  EXPECT_TRUE(place_.world.ran.empty());
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
  EXPECT_THAT(run("r").decision, HasSubstr("goes on from its checkpoint"));
  EXPECT_FALSE(fs::exists(dir + "/summary.json"));
  jobs_["100"].state = "RUNNING";
  look();
  EXPECT_EQ(run("r").state, "running");
  jobs_["100"].state = "COMPLETED";
  look(2);
  EXPECT_EQ(run("r").state, "completed");
  EXPECT_TRUE(run("r").over);
  EXPECT_EQ(ran("sbatch"), 1);
  EXPECT_TRUE(fs::exists(dir + "/summary.json")) << "nobody else wrote one";
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
  EXPECT_THAT(run("r").decision, HasSubstr("only repeat itself"));
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
  watch_ = std::make_unique<RunWatch>(place_.world, *store_,
                                      DaemonPlace{.folder = place_.path_of("")}, DaemonSettings{});
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
        place_.world, *store_, DaemonPlace{.folder = place_.path_of("")}, DaemonSettings{});
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
  nodes_ = "NodeName=n1 State=DOWN+NOT_RESPONDING CPUTot=1\nNodeName=n2 State=IDLE CPUTot=1\n";
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

TEST_F(RunWatchTest, AWishToRequeueIsGranted) {
  add("r", "10");
  look();
  jobs_["10"].state = "COMPLETED";
  look(2);
  ASSERT_TRUE(run("r").over);
  ASSERT_TRUE(store_->wish(run("r").id, "requeue", now_s_));
  look();
  EXPECT_EQ(ran("sbatch"), 1);
  EXPECT_EQ(run("r").job_id, "100");
  EXPECT_EQ(run("r").wish, "");
  jobs_["100"].state = "RUNNING";
  look();
  ASSERT_TRUE(store_->wish(run("r").id, "requeue", now_s_));
  look();
  EXPECT_EQ(ran("scontrol", "requeue"), 1);
  EXPECT_EQ(ran("sbatch"), 1);
}

TEST_F(RunWatchTest, AWishToCancelAsksTheRanksFirst) {
  save_checkpoint(add("r", "10"));
  look();
  ASSERT_TRUE(store_->wish(run("r").id, "cancel", now_s_));
  look();
  EXPECT_EQ(ran("scancel", "--signal=USR1"), 1);
  EXPECT_EQ(ran("scancel", "10"), 1);
  look();
  EXPECT_EQ(ran("scancel"), 1) << "it has its 30 s";
  look(3);
  EXPECT_EQ(ran("scancel"), 2);
  jobs_["10"].state = "TIMEOUT";
  look(2);
  EXPECT_TRUE(run("r").over);
  EXPECT_EQ(ran("sbatch"), 0) << run("r").decision;
}

TEST_F(RunWatchTest, WhatTheUserStartsAgainIsANewJob) {
  const auto dir = add("r", "10");
  look();
  jobs_["10"].state = "FAILED";
  jobs_["10"].exit = "1:0";
  look(2);
  ASSERT_TRUE(run("r").over);
  add("r", "12");
  fs::remove(dir + "/summary.json");
  look();
  EXPECT_FALSE(run("r").over);
  EXPECT_EQ(run("r").job_id, "12");
  EXPECT_EQ(run("r").state, "running");
}

/// Between the intent and the news of its job nobody judges the run, nor writes of its end.
TEST_F(RunWatchTest, AnAnswerOfSbatchThatGetsLostIsNoSecondSubmission) {
  const auto dir = add("r", "10");
  look();
  save_checkpoint(dir);
  loses_answers_ = true;
  jobs_["10"].state = "TIMEOUT";
  look();
  EXPECT_EQ(run("r").state, "submitting");
  look();
  EXPECT_EQ(ran("sbatch"), 1);
  EXPECT_FALSE(run("r").over);
  EXPECT_FALSE(fs::exists(dir + "/summary.json"));
  // The job has started and written its number.
  std::ofstream(dir + "/job.id") << "100\n";
  jobs_["100"].state = "RUNNING";
  look(2);
  EXPECT_EQ(run("r").job_id, "100");
  EXPECT_EQ(run("r").state, "running");
  EXPECT_EQ(ran("sbatch"), 1);
}

TEST_F(RunWatchTest, ADirectoryThatIsAwayForAWhile) {
  const auto dir = add("r", "10");
  look();
  fs::rename(dir, dir + ".away");
  look(2);
  EXPECT_FALSE(run("r").over);
  fs::rename(dir + ".away", dir);
  jobs_["10"].state = "COMPLETED";
  look(2);
  EXPECT_EQ(run("r").state, "completed");
}

TEST_F(RunWatchTest, RecoveryIsReadFromTheRunsFiles) {
  const auto dir = add("r", "10", "#SBATCH --no-requeue");
  const RunDir files{.path = dir};
  EXPECT_FALSE(recovery_wishes(place_.world, files).may_start_again);
  EXPECT_THAT(recovery_wishes(place_.world, files).requeue_on, testing::Contains("timeout"));
  std::ofstream(files.job_yaml()) << "name: x\nrun: hostname\n";
  EXPECT_THAT(recovery_wishes(place_.world, files).requeue_on,
              testing::Not(testing::Contains("timeout")))
      << "nobody said that it goes on where it was";
  std::ofstream(files.job_yaml()) << "name: x\nrun: hostname\nrecovery: {signal: USR1}\n";
  EXPECT_THAT(recovery_wishes(place_.world, files).requeue_on, testing::Contains("timeout"));
}

}  // namespace
}  // namespace dllaunch
