#include "launcher/run/submit_folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "support/json.hpp"
#include "tests/launcher/stored_runs.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class SubmitFolderTest : public testing::Test {
 protected:
  SubmitFolderTest() { fs::create_directories(project_); }
  ~SubmitFolderTest() override { setenv("PWD", pwd_.c_str(), 1); }

  /// A run that was submitted in the project.
  std::string run_of_project() {
    const auto dir = place_.store({.folder = "project a/runs/r"});
    std::ofstream(dir + "/plan.json") << Json{{"name", "r"}, {"work_dir", project_}};
    return dir;
  }
  static std::string here() { return fs::current_path().string(); }

  RunPlace place_;
  const std::string project_ = place_.path_of("project a");
  const std::string pwd_ = std::getenv("PWD") == nullptr ? "" : std::getenv("PWD");
};

TEST_F(SubmitFolderTest, IsInThePlanElseInTheScript) {
  const auto dir = run_of_project();
  EXPECT_EQ(submit_folder(place_.system, dir), project_);
  std::ofstream(dir + "/job.sbatch") << "#!/bin/bash\ncd -- '/home/me/my '\\''work' || exit 3\n";
  EXPECT_EQ(submit_folder(place_.system, dir), project_);
  for (const Json& plan :
       {Json{{"name", "r"}}, Json{{"name", "r"}, {"work_dir", "/home/me/\xef\xbf\xbd"}}}) {
    std::ofstream(dir + "/plan.json") << plan;
    EXPECT_EQ(submit_folder(place_.system, dir), "/home/me/my 'work");
  }
  for (const char* other : {"cd -- $'/a\\nb' || exit 3\n", "cd -- 'open\n", "cd /a\n", ""}) {
    std::ofstream(dir + "/job.sbatch") << "#!/bin/bash\n" << other;
    EXPECT_EQ(submit_folder(place_.system, dir), std::nullopt) << other;
  }
}

TEST_F(SubmitFolderTest, OfAProjectThatWasCopiedWithItsRunsIsTheCopy) {
  const auto dir = run_of_project();
  std::ofstream(dir + "/plan.json") << Json{{"work_dir", project_}, {"run_dir", dir}};
  const auto copy = place_.path_of("project b");
  fs::copy(project_, copy, fs::copy_options::recursive);
  EXPECT_EQ(submit_folder(place_.system, copy + "/runs/r"), copy);
  EXPECT_EQ(submit_folder(place_.system, dir), project_);
  fs::copy(dir, copy + "/r", fs::copy_options::recursive);
  EXPECT_EQ(submit_folder(place_.system, copy + "/r"), project_) << "only the run was";
  fs::remove_all(project_);
  EXPECT_EQ(submit_folder(place_.system, copy + "/runs/r"), copy);
}

TEST_F(SubmitFolderTest, OfASweepIsThatOfItsTrials) {
  const auto folder = fs::path(run_of_project()).parent_path();
  EXPECT_EQ(submit_folder(place_.system, folder), std::nullopt) << "runs of their own";
  std::ofstream(folder / "sweep.json") << "{}";
  EXPECT_EQ(submit_folder(place_.system, folder), project_);
  EXPECT_EQ(submit_folder(place_.system, place_.path_of("nowhere")), std::nullopt);
}

TEST_F(SubmitFolderTest, EnteringItKeepsWhatWasTyped) {
  auto dir = fs::relative(run_of_project()).string();
  std::string job_file = "job.yaml";
  const auto before = here();
  ASSERT_TRUE(enter_submit_folder(place_.system, dir, job_file));
  EXPECT_EQ(here(), project_);
  EXPECT_EQ(dir, project_ + "/runs/r");
  EXPECT_EQ(job_file, before + "/job.yaml");
  EXPECT_EQ(std::string(std::getenv("PWD")), project_);
  EXPECT_THAT(place_.system.logged, HasSubstr(project_));
  place_.system.logged.clear();
  ASSERT_TRUE(enter_submit_folder(place_.system, dir, job_file));
  EXPECT_EQ(place_.system.logged, "") << "it is entered already";
}

TEST_F(SubmitFolderTest, ANewRunStaysHere) {
  const auto before = here();
  for (std::string dir : {"", "runs/new"}) {
    std::string job_file = "job.yaml";
    ASSERT_TRUE(enter_submit_folder(place_.system, dir, job_file));
    EXPECT_EQ(here(), before);
    EXPECT_EQ(job_file, "job.yaml");
  }
}

TEST_F(SubmitFolderTest, AMissingOneIsNamed) {
  auto dir = place_.store({.folder = "runs of b/r"});
  const auto gone = place_.path_of("project b");
  std::ofstream(dir + "/plan.json") << Json{{"name", "r"}, {"work_dir", gone}};
  const auto before = here();
  auto job_file = dir + "/job.yaml";
  const auto entered = enter_submit_folder(place_.system, dir, job_file);
  ASSERT_FALSE(entered);
  EXPECT_EQ(entered.error().kind, ErrorKind::bad_request);
  EXPECT_THAT(entered.error().what, HasSubstr(gone));
  EXPECT_THAT(entered.error().hint, HasSubstr("--run-dir '" + dir + "'"));
  EXPECT_EQ(here(), before);

  // A job file of the user's own says where the project is by now.
  job_file = "job.yaml";
  ASSERT_TRUE(enter_submit_folder(place_.system, dir, job_file));
  EXPECT_EQ(here(), before);
  EXPECT_THAT(place_.system.logged, HasSubstr(gone));
}

}  // namespace
}  // namespace dllaunch
