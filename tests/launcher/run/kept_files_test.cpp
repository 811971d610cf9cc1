#include "launcher/run/kept_files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "launcher/run/job_record.hpp"
#include "launcher/run/run_index.hpp"
#include "launcher/run/submit_folder.hpp"
#include "tests/launcher/stored_runs.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

/// A run in a folder in which others may rename, if it is opened to them.
class KeptFiles : public testing::Test {
 protected:
  void SetUp() override {
    fs::permissions(place_.path_of(""), static_cast<fs::perms>(0755));
    run_.path = place_.store({.folder = "project/run", .job_id = "7"});
    for (const char* folder : {"project", "project/run"})
      fs::permissions(place_.path_of(folder), static_cast<fs::perms>(0755));
  }
  void open_to_others() const {
    fs::permissions(place_.path_of("project"), static_cast<fs::perms>(0777));
  }
  /// Their folder; nullopt: none.
  std::optional<std::string> make_copies(const std::string& plan = "{}") {
    const auto copies = make_kept_files(place_.system, run_);
    if (!copies) return std::nullopt;
    std::ofstream(copies->plan_json()) << plan;
    return copies->path;
  }
  Result<RunDir> files(const std::string& below = "") {
    return executed_files(place_.system, {.path = run_.path + below});
  }

  RunPlace place_;
  RunDir run_;
};

TEST_F(KeptFiles, AreNotNeededWhereOnlyTheUserWrites) {
  EXPECT_EQ(make_copies(), std::nullopt);
  ASSERT_TRUE(files());
  EXPECT_EQ(files()->path, run_.path);
  EXPECT_EQ(script_to_submit(place_.system, run_), run_.sbatch_script());
}

TEST_F(KeptFiles, StandInForARunThatOthersCanReplace) {
  open_to_others();
  const auto none = files();
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::bad_request);
  EXPECT_THAT(none.error().what, HasSubstr("project can be written by others"));
  EXPECT_THAT(none.error().hint, HasSubstr("--run-dir " + run_.path));
  EXPECT_EQ(script_to_submit(place_.system, run_), run_.sbatch_script());

  const auto copies = make_copies();
  ASSERT_TRUE(copies);
  EXPECT_THAT(*copies, testing::StartsWith(*state_folder(place_.system) + "/kept/"));
  EXPECT_EQ(fs::status(*copies).permissions(), fs::perms::owner_all);
  ASSERT_TRUE(files());
  EXPECT_EQ(files()->path, *copies);
  EXPECT_EQ(script_to_submit(place_.system, run_), *copies + "/job.sbatch");
}

TEST_F(KeptFiles, StandInForARunThatOthersWriteIn) {
  fs::permissions(run_.path, fs::perms::all);
  EXPECT_FALSE(files());
  ASSERT_TRUE(make_copies());
  EXPECT_TRUE(files());
}

TEST_F(KeptFiles, AreThoseOfTheWholeForItsTasksAndComponents) {
  open_to_others();
  const auto copies = make_copies();
  ASSERT_TRUE(copies);
  ASSERT_TRUE(files("/task-3"));
  EXPECT_EQ(files("/task-3")->path, *copies);
  EXPECT_FALSE(files("/components/a")) << "no copy";
  fs::create_directories(*copies + "/components/a");
  std::ofstream(*copies + "/components/a/plan.json") << "{}";
  ASSERT_TRUE(files("/components/a"));
  EXPECT_EQ(files("/components/a")->path, *copies + "/components/a");
  EXPECT_FALSE(files("/elsewhere"));
}

TEST_F(KeptFiles, AreNotTakenFromAStateFolderThatOthersCanReplace) {
  open_to_others();
  place_.system.variables["XDG_STATE_HOME"] = place_.path_of("project/state");
  ASSERT_TRUE(make_copies());
  EXPECT_FALSE(files());
}

TEST_F(KeptFiles, AreMissedAloudWithoutAHome) {
  open_to_others();
  place_.system.variables.erase("XDG_STATE_HOME");
  place_.system.variables.erase("HOME");
  EXPECT_EQ(make_copies(), std::nullopt);
  EXPECT_THAT(place_.system.logged, HasSubstr("no copies of what it executes can be kept"));
}

TEST_F(KeptFiles, EndWithTheRunsPlaceInTheIndexOrItsDanger) {
  open_to_others();
  const auto copies = make_copies();
  ASSERT_TRUE(copies);
  forget_kept_files(*state_folder(place_.system), fs::path(*copies).filename());
  EXPECT_FALSE(fs::exists(*copies));
  ASSERT_TRUE(make_copies());
  fs::permissions(place_.path_of("project"), static_cast<fs::perms>(01777));
  EXPECT_EQ(make_copies(), std::nullopt);
  EXPECT_FALSE(fs::exists(*copies)) << "an old one would come back one day";
}

/// Relative commands start from there.
TEST_F(KeptFiles, SayWhereTheRunWasSubmitted) {
  std::ofstream(run_.plan_json()) << R"({"work_dir": "/home/mallory"})";
  EXPECT_EQ(submit_folder(place_.system, run_.path), "/home/mallory");
  open_to_others();
  EXPECT_EQ(submit_folder(place_.system, run_.path), std::nullopt);
  ASSERT_TRUE(make_copies(R"({"work_dir": "/home/alice"})"));
  EXPECT_EQ(submit_folder(place_.system, run_.path), "/home/alice");
}

/// Where a site removes comments, the script tells the run's job.
TEST_F(KeptFiles, AreTheScriptOfTheJob) {
  open_to_others();
  const auto copies = make_copies();
  ASSERT_TRUE(copies);
  std::ofstream(run_.sbatch_script()) << "#!/bin/bash\n";
  remember_job(place_.system, run_, "7", "dllaunch:0123456789abcdef");
  EXPECT_EQ(identity_of({}, run_, "7").script, *copies + "/job.sbatch");
}

}  // namespace
}  // namespace dllaunch
