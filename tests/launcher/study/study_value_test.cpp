#include "launcher/study/study_value.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/launcher/sample_plans.hpp"
#include "tests/launcher/stored_runs.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;

/// A run directory with rank 0's output.
class StudyValue : public testing::Test {
 protected:
  StudyRun measured(const Job& job, const std::string& status = "completed") {
    const auto dir =
        place_.store({.folder = "a", .status = status, .trains = !job.train.is_null()});
    for (const auto& [name, text] : files_) place_.append(dir, name, text);
    StudyRun run;
    measure(place_.system, dir, job, run);
    return run;
  }
  Job command(const std::string& pattern) {
    auto job = run_job();
    job.study.value = pattern;
    return job;
  }

  RunPlace place_;
  std::vector<std::pair<std::string, std::string>> files_;
};

TEST_F(StudyValue, IsTheLastMatchInRankZerosOutput) {
  files_ = {{"out/rank-0000-n1.log", "warm-up 1.5 samples/s\nnow 12.25 samples/s\nbye\n"},
            {"out/rank-0001-n1.log", "now 99 samples/s\n"}};
  const auto run = measured(command("([0-9.]+) samples/s"));
  EXPECT_EQ(run.value, 12.25) << run.reason;
  EXPECT_EQ(run.state, "completed");
  EXPECT_EQ(measured(command("[0-9]+")).value, 12) << "without a group, the whole match";
}

TEST_F(StudyValue, MayBeInLinesOfJson) {
  files_ = {
      {"out/rank-0000-n1.log", "{\"speed\": {\"mean\": 3}}\n{\"speed\": {\"mean\": 4.5}}\nx\n"}};
  EXPECT_EQ(measured(command("$.speed.mean")).value, 4.5);
  EXPECT_THAT(measured(command("$.speed.")).reason, HasSubstr("no path into JSON"));
}

TEST_F(StudyValue, OfStepsIsTheirRateWithoutTheFirstTenth) {
  std::string log = "start\n2026-11-26 10:00:00 step 0\n2026-11-26 10:00:50 step 1\n";
  for (int i = 2; i < 12; ++i)
    log += "2026-11-26 10:01:" + std::to_string(8 + 2 * i) + " step " + std::to_string(i) +
           " loss 1\n";
  files_ = {{"out/rank-0000-n1.log", log}};
  auto job = command("x");
  job.study.step = "step ([0-9]+)";
  EXPECT_EQ(measured(job).value, 0.5) << "two seconds a step; the first took 50";
}

/// The log of n1, where it ended, begins before that of n2.
TEST_F(StudyValue, OfStepsOnTwoNodesIsInTheOrderOfTime) {
  std::string times[2];
  for (int i = 1; i < 12; ++i)
    times[i > 4 && i < 9 ? 1 : 0] +=
        "2026-11-26 10:01:" + std::to_string(8 + 2 * i) + " step " + std::to_string(i) + "\n";
  files_ = {{"out/rank-0000-n2.log", times[1]}, {"out/rank-0000-n1.log", times[0]}};
  auto job = command("x");
  job.study.step = "step ([0-9]+)";
  EXPECT_EQ(measured(job).value, 0.5);
}

TEST_F(StudyValue, OfStepsNeedsTimes) {
  auto job = command("x");
  job.study.step = "step ([0-9]+)";
  files_ = {{"out/rank-0000-n1.log", "step 1\nstep 2\nstep 3\n"}};
  EXPECT_THAT(measured(job).reason, HasSubstr("fewer than three lines"));
}

TEST_F(StudyValue, SaysWhyThereIsNone) {
  files_ = {{"out/rank-0000-n1.log", "loss nan\nspeed 1e400\nspeed -3\n"}};
  EXPECT_EQ(measured(command("x"), "").reason, "it did not end");
  EXPECT_THAT(measured(command("fps ([0-9]+)")).reason, HasSubstr("no line of rank 0's output"));
  EXPECT_THAT(measured(command("loss (.*)")).reason, HasSubstr("'nan', which is no number"));
  EXPECT_THAT(measured(command("speed (-.*)")).reason, HasSubstr("no number above 0"));
  EXPECT_THAT(measured(command("(")).reason, HasSubstr("not a regular expression"));
  EXPECT_THAT(measured(command("x"), "failed").reason, HasSubstr("failed"));
  StudyRun nowhere;
  measure(place_.system, "/nowhere", command("x"), nowhere);
  EXPECT_FALSE(nowhere.reason.empty());
}

TEST_F(StudyValue, OfATrainingIsItsThroughput) {
  auto job = train_job();
  EXPECT_THAT(measured(job).reason, HasSubstr("no throughput"));
  files_ = {{"events.jsonl", R"({"time":1,"event":"epoch","epoch":1,"step":4,"seconds":9})"
                             "\n"
                             R"({"time":2,"event":"epoch","epoch":2,"step":8,"seconds":2})"
                             "\n"},
            {"ranks.csv", "2,0,n1,1,2,3,4,5,6,7,8\n2,1,n1,3,2,3,4,5,6,7,8\n"}};
  const auto run = measured(job);
  EXPECT_EQ(run.epoch_s, 2) << "without the first";
  ASSERT_EQ(run.parts.size(), 8u);
  EXPECT_EQ(run.parts[0], 2) << "the mean over ranks";
}

}  // namespace
}  // namespace dllaunch
