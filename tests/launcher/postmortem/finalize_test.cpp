#include "launcher/postmortem/finalize.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <utility>

#include "launcher/os/atomic_file.hpp"
#include "launcher/run/run_ownership.hpp"
#include "launcher/slurm/scontrol_parser.hpp"
#include "support/json_fields.hpp"
#include "tests/launcher/stored_runs.hpp"

namespace dllaunch {
namespace {

TEST(Finalize, TheFirstErrorComesFirst) {
  const Outcome outcome{.status = RunStatus::failed,
                        .exit_code = 1,
                        .reason = "job 7: rank 3 on n2 exited with code 1",
                        .first_error = "rank 3 on n2: ValueError: bad",
                        .advice = "mend it",
                        .log = "/r/out/rank-0003-n2.log",
                        .excerpt = {"ValueError: bad"}};
  EXPECT_EQ(render_failure(outcome),
            "dllaunch: first error: rank 3 on n2: ValueError: bad\n"
            "dllaunch: job 7: rank 3 on n2 exited with code 1\n"
            "  try: mend it\n"
            "  /r/out/rank-0003-n2.log:\n"
            "    | ValueError: bad\n");
  EXPECT_EQ(render_failure({}), "");
  EXPECT_EQ(render_failure({.reason = "job 7: 2 of 3 tasks", .others = {"task 2: lost"}}),
            "dllaunch: job 7: 2 of 3 tasks\ndllaunch: task 2: lost\n");
}

// The trainer writes that it resumed, Slurm counts that it requeued: one and the same.
TEST(Finalize, ARequeuedRunThatResumedHasRestartedOnce) {
  const auto restarts = [](int requeued, int resumed) {
    RunTotals totals;
    for (int i = 0; i < resumed; ++i) totals.take(RestartEvent{.reason = "resume"});
    return summary_of({.restarts = requeued}, totals, 4, /*trains=*/true).restarts;
  };
  EXPECT_EQ(restarts(1, 1), 1);
  EXPECT_EQ(restarts(1, 0), 1) << "before its first checkpoint";
  EXPECT_EQ(restarts(0, 1), 1) << "started again by hand";
  EXPECT_EQ(restarts(0, 0), 0);
}

class FinalizeTest : public testing::Test {
 protected:
  void answer(const std::string& queue, const std::string& record) {
    system().answers["squeue --noheader --format=" + std::string(queue_format) + " --jobs=7"] = {
        0, queue, ""};
    system().answers["scontrol show job 7"] = {0, record, ""};
  }
  Result<std::optional<FinalState>> settle(const std::string& path) {
    auto run = read_stored_run(system(), path);
    EXPECT_TRUE(run);
    return finalize_run(system(), *run);
  }
  DiskSystem& system() { return place_.system; }

  RunPlace place_;
  const std::string failed_ =
      "JobId=7 JobName=x\n   JobState=FAILED Reason=NonZeroExitCode\n   ExitCode=1:0\n"
      "   SubmitTime=2026-11-20T19:57:20 StartTime=2026-11-20T19:57:30 "
      "EndTime=2026-11-20T19:58:30\n";
};

TEST_F(FinalizeTest, AnUnfollowedRunGetsASummary) {
  const auto path = place_.store({.folder = "r", .job_id = "7", .trains = true});
  place_.append(path, "events.jsonl",
                R"({"time":1000,"event":"epoch","epoch":1,"val_accuracy":0.1})"
                "\n"
                R"({"time":9e9,"event":"epoch","epoch":2,"val_accuracy":0.5,"images_per_s":100})"
                "\n");
  place_.append(path, "out/rank-0001-n1.log", "CUDA error: lost\n");
  place_.append(path, "slurm-7.out", "srun: error: n1: task 1: Exited with exit code 1\n");
  answer("", failed_);
  const auto final_state = settle(path);
  ASSERT_TRUE(final_state && *final_state);
  EXPECT_EQ((*final_state)->outcome.reason, "job 7: rank 1 on n1 exited with code 1");
  const auto run = read_stored_run(system(), path);
  EXPECT_EQ(stored_status(*run), "failed");
  EXPECT_EQ(run->summary["epochs"], 2);
  EXPECT_EQ(run->summary["images_per_s"], 100);
  EXPECT_EQ(run->summary["seconds"], 60);
  EXPECT_EQ(run->summary["queue_seconds"], 10);
  EXPECT_EQ(run->summary["reason"], "job 7: rank 1 on n1 exited with code 1");
  // Once.
  const auto again = settle(path);
  EXPECT_TRUE(again && !*again);
}

TEST_F(FinalizeTest, WhatGoesOnOrIsFollowedIsLeftAlone) {
  const auto path = place_.store({.folder = "r", .job_id = "7"});
  answer("7|RUNNING|N/A|0:05|n1|None\n", failed_);
  EXPECT_FALSE(*settle(path));
  answer("", "JobId=7 JobName=x\n   JobState=COMPLETING Reason=None\n");
  EXPECT_FALSE(*settle(path));
  answer("", failed_);
  const auto lock = RunLock::take({.path = path});
  EXPECT_FALSE(*settle(path));
  // Its owner may be stopped: who only wants to know is told.
  const auto run = read_stored_run(system(), path);
  const auto end = read_final_state(system(), *run);
  ASSERT_TRUE(end && *end);
  EXPECT_EQ((*end)->outcome.exit_code, 1);
  EXPECT_TRUE(read_stored_run(system(), path)->summary.is_null());
}

/// The queue answers, who knows of ended jobs does not: nothing is written down for good.
TEST_F(FinalizeTest, WhoDoesNotAnswerMayKnowHowItEnded) {
  const auto path = place_.store({.folder = "r", .job_id = "7"});
  answer("", failed_);
  system().answers["scontrol show job 7"] = {
      1, "", "slurm_load_jobs error: Unable to contact slurm controller"};
  const auto unheard = settle(path);
  ASSERT_FALSE(unheard);
  EXPECT_EQ(unheard.error().kind, ErrorKind::unavailable);
  EXPECT_TRUE(read_stored_run(system(), path)->summary.is_null());
  system().answers["scontrol show job 7"] = {1, "",
                                             "slurm_load_jobs error: Invalid job id specified"};
  const auto forgotten = settle(path);
  ASSERT_TRUE(forgotten && *forgotten);
  EXPECT_TRUE((*forgotten)->jobs.empty());
}

/// A run of 60 s on 2 nodes of 3 cores, again and again: a tenth of a core-hour each.
class FinalizedBooks : public FinalizeTest {
 protected:
  void SetUp() override {
    path_ = place_.store({.folder = "r", .job_id = "7"});
    auto plan = Json::parse(*system().read_file(path_ + "/plan.json"));
    plan["occupies"] = {{"cores", 3}, {"gpus", 0}};
    EXPECT_TRUE(write_file(path_ + "/plan.json", plan.dump()));
  }
  void end(const std::string& job) {
    system().answers["squeue --noheader --format=" + std::string(queue_format) + " --jobs=" + job] =
        {0, "", ""};
    system().answers["scontrol show job " + job] = {0, failed_, ""};
  }
  void submit(const std::string& job) {
    forget_summary({.path = path_});
    EXPECT_TRUE(write_file(path_ + "/job.id", job + "\n"));
    end(job);
  }
  Json summary() {
    const auto run = read_stored_run(system(), path_);
    return run ? run->summary : Json();
  }
  void expect_settled(double core_hours, int submissions) {
    ASSERT_TRUE(settle(path_));
    EXPECT_NEAR(value_at<double>(summary(), "core_hours"), core_hours, 1e-9) << summary();
    EXPECT_EQ(value_at<int>(summary(), "submissions", 1), submissions);
  }

  std::string path_;
};

TEST_F(FinalizedBooks, CoverAllSubmissions) {
  end("7");
  expect_settled(0.1, 1);
  submit("8");
  expect_settled(0.2, 2);
  submit("9");
  expect_settled(0.3, 3);
  EXPECT_EQ(summary()["seconds"], 60) << "of the newest";
}

TEST_F(FinalizedBooks, OfARunThatIsRunningAreHoursSoFar) {
  end("7");
  expect_settled(0.1, 1);
  submit("8");
  const auto run = read_stored_run(system(), path_);
  const auto hours = all_hours_so_far(system(), *run, 30);
  EXPECT_NEAR(value_at<double>(hours, "core_hours"), 0.15, 1e-9);
  EXPECT_EQ(hours["gpu_hours"], 0);
  EXPECT_EQ(hours["submissions"], 2);
}

TEST_F(FinalizedBooks, CountNothingTwice) {
  end("7");
  expect_settled(0.1, 1);
  submit("8");
  for (int again = 0; again < 3; ++again) {
    std::filesystem::remove(path_ + "/summary.json");
    expect_settled(0.2, 2);
  }
  // Killed once it had set the summary aside, before the next job was there: twice.
  for (int again = 0; again < 2; ++again) {
    forget_summary({.path = path_});
    expect_settled(0.2, 2);
  }
  submit("9");
  expect_settled(0.3, 3);
}

TEST_F(FinalizedBooks, CoverASubmissionThatNobodyFollowed) {
  end("7");
  close_submission(system(), {.path = path_});
  EXPECT_NEAR(value_at<double>(summary(), "core_hours"), 0.1, 1e-9);
  EXPECT_EQ(summary()["reason"], "job 7 exited with code 1");
  close_submission(system(), {.path = path_});
  submit("8");
  expect_settled(0.2, 2);
  // Set aside, and no other job was submitted.
  forget_summary({.path = path_});
  close_submission(system(), {.path = path_});
  EXPECT_TRUE(summary().is_null()) << "it is counted";
}

TEST_F(FinalizedBooks, AreUnknownWithASubmissionOfWhichNothingIsKnown) {
  close_submission(system(), {.path = path_});
  EXPECT_EQ(summary()["status"], "failed") << "Slurm does not answer";
  submit("8");
  ASSERT_TRUE(settle(path_));
  EXPECT_TRUE(summary()["core_hours"].is_null()) << summary();
  EXPECT_EQ(summary()["submissions"], 2);
  submit("9");
  EXPECT_TRUE(write_file(path_ + "/summary.before.json", "{"));
  ASSERT_TRUE(settle(path_));
  EXPECT_TRUE(summary()["core_hours"].is_null()) << "damaged";
}

TEST_F(FinalizedBooks, KeepTheTotalsUntilASubmissionOfWhichNothingIsKnown) {
  end("7");
  expect_settled(0.1, 1);
  auto first = summary();
  first["energy_joules"] = 5.0;
  EXPECT_TRUE(write_file(path_ + "/summary.json", first.dump()));
  submit("8");
  system().answers.clear();
  close_submission(system(), {.path = path_});
  EXPECT_EQ(summary()["status"], "failed");
  EXPECT_EQ(summary()["submissions"], 2) << summary();
  EXPECT_EQ(summary()["energy_joules"], 5);
  EXPECT_TRUE(summary()["core_hours"].is_null());
  submit("9");
  ASSERT_TRUE(settle(path_));
  EXPECT_EQ(summary()["submissions"], 3);
  EXPECT_EQ(summary()["energy_joules"], 5);
}

TEST_F(FinalizedBooks, OfAJobThatSlurmHasForgottenAreUnknown) {
  end("7");
  system().answers["scontrol show job 7"] = {1, "",
                                             "slurm_load_jobs error: Invalid job id specified"};
  const auto forgotten = settle(path_);
  ASSERT_TRUE(forgotten && *forgotten);
  EXPECT_TRUE((*forgotten)->jobs.empty());
  EXPECT_TRUE(summary()["core_hours"].is_null()) << summary();
  EXPECT_TRUE(summary()["queue_seconds"].is_null());
}

TEST_F(FinalizedBooks, OfAJobThatWasCancelledInTheQueueAreNone) {
  answer("",
         "JobId=7 JobName=x\n   JobState=CANCELLED Reason=None\n   ExitCode=0:15\n"
         "   SubmitTime=2026-11-20T19:57:20 StartTime=Unknown EndTime=2026-11-20T19:58:30\n");
  ASSERT_TRUE(settle(path_));
  EXPECT_EQ(summary()["core_hours"], 0) << summary();
}

TEST_F(FinalizedBooks, OfADamagedNumberOfSubmissionsStayANumber) {
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  EXPECT_TRUE(write_file(path_ + "/summary.before.json", Json{{"submissions", most}}.dump()));
  end("7");
  ASSERT_TRUE(settle(path_));
  EXPECT_EQ(summary()["submissions"], most);
}

/// Slurm answers late: `run` has closed job 7 and submitted job 8 meanwhile.
class SlowAnswer : public FinalizedBooks {
 protected:
  void during_the_answer(std::function<void()> happens) {
    end("7");
    system().respond = [this, happens = std::move(happens)](const auto& argv) {
      if (argv.front() == "scontrol" && !std::exchange(happened_, true)) happens();
      return std::nullopt;
    };
  }

  bool happened_ = false;
};

TEST_F(SlowAnswer, IsNotTheEndOfTheNextJob) {
  during_the_answer([this] {
    close_submission(system(), {.path = path_});
    submit("8");
  });
  const auto late = settle(path_);
  ASSERT_TRUE(late);
  EXPECT_FALSE(*late) << "the run goes on";
  EXPECT_TRUE(happened_);
  EXPECT_TRUE(summary().is_null()) << summary();
  expect_settled(0.2, 2);
}

TEST_F(SlowAnswer, IsNotWrittenOverWhatARunWrites) {
  std::optional<Result<RunLock>> lock;
  during_the_answer([&] { lock.emplace(RunLock::take({.path = path_})); });
  const auto late = settle(path_);
  ASSERT_TRUE(late && *late) << "who only wants to know is told";
  EXPECT_TRUE(summary().is_null()) << summary();
  lock.reset();
  happened_ = false;
  during_the_answer(
      [this] { EXPECT_TRUE(write_file(path_ + "/summary.json", R"({"status": "cancelled"})")); });
  ASSERT_TRUE(settle(path_));
  EXPECT_EQ(summary()["status"], "cancelled") << "of its follower";
}

TEST_F(SlowAnswer, IsNamedForTheJobItIsOf) {
  end("7");
  const auto run = read_stored_run(system(), path_);
  submit("8");
  EXPECT_EQ(final_summary(system(), *run, {}, {}).submission, "job 7");
}

/// A start without a job of its own, of 36 s on 100 cores: one core-hour.
class KilledStarts : public FinalizeTest {
 protected:
  KilledStarts() : dir_{.path = place_.store({.folder = "l", .trains = true})} {}

  /// It begins a minute after the one before it.
  void begin() {
    auto plan = Json::parse(*system().read_file(dir_.plan_json()));
    plan["occupies"] = {{"cores", 100}, {"gpus", 0}};
    EXPECT_TRUE(write_file(dir_.plan_json(), plan.dump()));
    age(dir_.plan_json());
  }
  void age(const std::string& path) const {
    const auto now = std::filesystem::file_time_type::clock::now();
    std::filesystem::last_write_time(path, now - std::chrono::minutes(60 - minute_));
  }
  /// Its output is only appended to: that of a healthy run keeps its age.
  void start_ranks() {
    EXPECT_TRUE(take_run_ownership(dir_, system()));
    age(dir_.path + "/.lease");
    const double began_s = began_at_s(dir_, Launcher::local);
    for (const int second : {1, 37})
      place_.append(
          dir_.path, "events.jsonl",
          Json{{"time", began_s + second}, {"event", "step"}, {"step", ++step_}}.dump() + "\n");
  }
  Json close() {
    close_submission(system(), dir_);
    ++minute_;
    const auto run = read_stored_run(system(), dir_.path);
    return run ? run->summary : Json();
  }

  RunDir dir_;
  int minute_ = 0;
  int step_ = 0;
};

TEST_F(KilledStarts, CountToTheirLastEvents) {
  begin();
  EXPECT_TRUE(close().is_null()) << "no rank was started";
  for (const int submissions : {1, 2, 3}) {
    begin();
    start_ranks();
    const auto summary = close();
    EXPECT_EQ(value_at<std::string>(summary, "status"), "failed");
    EXPECT_NEAR(value_at<double>(summary, "core_hours"), submissions, 1e-6) << summary;
    EXPECT_EQ(value_at<int>(summary, "submissions", 1), submissions);
    forget_summary(dir_);
  }
  begin();
  EXPECT_TRUE(close().is_null()) << "no rank was started";
}

TEST_F(FinalizeTest, ASilentSlurmIsAnError) {
  const auto path = place_.store({.folder = "r", .job_id = "7"});
  EXPECT_FALSE(settle(path));
}

}  // namespace
}  // namespace dllaunch
