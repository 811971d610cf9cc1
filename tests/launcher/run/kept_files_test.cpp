#include "launcher/run/kept_files.hpp"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
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
  /// Their folder; empty: none.
  std::string make_copies(const std::string& plan = "{}") {
    auto folder = kept_folder(place_.system, run_.path, /*make=*/true);
    if (folder.empty()) return folder;
    std::ofstream(folder + "/plan.json") << plan;
    return folder;
  }
  /// Files as `dllaunch run` writes them.
  void store_own() const {
    fs::permissions(run_.path, fs::perms::owner_all);
    for (const auto& file : {run_.job_yaml(), run_.plan_json(), run_.sbatch_script()}) {
      std::ofstream(file) << "own";
      fs::permissions(file, static_cast<fs::perms>(0600));
    }
  }
  Result<RunDir> files(const std::string& below = "") {
    return executed_files(place_.system, {.path = run_.path + below});
  }

  RunPlace place_;
  RunDir run_;
};

TEST_F(KeptFiles, AreNotNeededWhereOnlyTheUserWrites) {
  EXPECT_EQ(make_copies(), "");
  ASSERT_TRUE(files());
  EXPECT_EQ(files()->path, run_.path);
  fs::permissions(place_.path_of("project"), static_cast<fs::perms>(01777));
  EXPECT_EQ(make_copies(), "");
  EXPECT_EQ(place_.system.logged, "");
}

TEST_F(KeptFiles, StandInForARunThatOthersCanReplace) {
  open_to_others();
  fs::permissions(run_.path, fs::perms::all);
  const auto none = files();
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::bad_request);
  EXPECT_THAT(none.error().what, HasSubstr("project can be written by others"));
  EXPECT_THAT(none.error().hint, HasSubstr("--run-dir " + run_.path));

  const auto copies = make_copies();
  EXPECT_THAT(copies, testing::StartsWith(*state_folder(place_.system) + "/kept/"));
  EXPECT_EQ(fs::status(copies).permissions(), fs::perms::owner_all);
  ASSERT_TRUE(files());
  EXPECT_EQ(files()->path, copies);
  EXPECT_EQ(files()->sbatch_script(), copies + "/job.sbatch");
}

TEST_F(KeptFiles, StandInForARunThatOthersWriteIn) {
  fs::permissions(run_.path, fs::perms::all);
  EXPECT_FALSE(files());
  EXPECT_NE(make_copies(), "");
  EXPECT_TRUE(files());
}

/// A run of an older version, or of a container whose home is gone.
TEST_F(KeptFiles, AreMadeOfFilesThatAreTheUsersAlone) {
  open_to_others();
  store_own();
  ASSERT_TRUE(files());
  EXPECT_THAT(files()->path, HasSubstr("/kept/"));
  for (const auto& file : {files()->job_yaml(), files()->plan_json(), files()->sbatch_script()}) {
    std::string text;
    std::ifstream(file) >> text;
    EXPECT_EQ(text, "own");
  }
}

TEST_F(KeptFiles, AreNotMadeOfFilesThatOthersWrote) {
  open_to_others();
  store_own();
  const auto expect_none = [this] {
    EXPECT_FALSE(files());
    EXPECT_TRUE(forget_kept_files(*state_folder(place_.system), run_.path));
  };
  fs::permissions(run_.job_yaml(), static_cast<fs::perms>(0666));
  expect_none();
  fs::rename(run_.job_yaml(), run_.path + "/own.yaml");
  fs::create_symlink(run_.path + "/own.yaml", run_.job_yaml());
  expect_none();
  fs::remove(run_.job_yaml());
  store_own();
  fs::permissions(run_.path, static_cast<fs::perms>(0770));
  expect_none();
}

TEST_F(KeptFiles, AreKeyedByWhereLinksLead) {
  open_to_others();
  const auto copies = make_copies();
  const auto link = place_.path_of("link");
  fs::create_directory_symlink(place_.path_of("project"), link);
  EXPECT_EQ(kept_folder(place_.system, link + "/run", /*make=*/false), copies);
  EXPECT_TRUE(is_script_of({.path = link + "/run"}, copies + "/job.sbatch"));
  EXPECT_FALSE(is_script_of({.path = link + "/other"}, copies + "/job.sbatch"));
  EXPECT_TRUE(is_script_of({.path = "/a"}, "/a/job.sbatch"));
}

TEST_F(KeptFiles, OfAComponentLieAmongThoseOfItsWhole) {
  open_to_others();
  const auto copies = make_copies();
  EXPECT_EQ(kept_folder(place_.system, run_.path + "/components/a", /*make=*/false),
            copies + "/components/a");
  EXPECT_FALSE(files("/components/a")) << "no copy";
  fs::create_directories(copies + "/components/a");
  std::ofstream(copies + "/components/a/plan.json") << "{}";
  ASSERT_TRUE(files("/components/a"));
  EXPECT_EQ(files("/components/a")->path, copies + "/components/a");
  EXPECT_FALSE(files("/elsewhere"));
}

/// They would never be used.
TEST_F(KeptFiles, AreNotMadeInAStateFolderThatOthersCanReplace) {
  open_to_others();
  place_.system.variables["XDG_STATE_HOME"] = place_.path_of("project/state");
  EXPECT_EQ(make_copies(), "");
  EXPECT_THAT(place_.system.logged, HasSubstr("no copies of what the run executes can be kept"));
  ASSERT_TRUE(files());
  EXPECT_EQ(files()->path, run_.path) << "these are the user's alone";
}

TEST_F(KeptFiles, AreMissedAloudWithoutAHome) {
  open_to_others();
  place_.system.variables.erase("XDG_STATE_HOME");
  place_.system.variables.erase("HOME");
  EXPECT_EQ(make_copies(), "");
  EXPECT_THAT(place_.system.logged, HasSubstr("elsewhere: HOME is not set"));
}

/// As on nodes without the home, or with a full quota.
TEST_F(KeptFiles, AreMissedAloudWhereTheyCannotBeWritten) {
  open_to_others();
  store_own();
  place_.system.variables["XDG_STATE_HOME"] = "/proc";
  EXPECT_EQ(make_copies(), "");
  EXPECT_THAT(place_.system.logged, HasSubstr("kept elsewhere: cannot make /proc/dllaunch"));
  ASSERT_TRUE(files());
  EXPECT_EQ(files()->path, run_.path) << "these are the user's alone";
  fs::permissions(run_.sbatch_script(), static_cast<fs::perms>(0666));
  EXPECT_FALSE(files());
}

TEST_F(KeptFiles, MayLieWhereALinkOfTheStateFolderLeads) {
  open_to_others();
  fs::create_directories(place_.path_of("disk"));
  const auto state = *state_folder(place_.system);
  fs::remove_all(state);
  fs::create_directories(fs::path(state).parent_path());
  fs::create_directory_symlink(place_.path_of("disk"), state);
  EXPECT_NE(make_copies(), "") << place_.system.logged;
  EXPECT_EQ(files()->path, make_copies());
}

TEST_F(KeptFiles, AreNotMadeByWhoOnlyAsks) {
  open_to_others();
  store_own();
  EXPECT_NE(kept_folder(place_.system, run_.path, /*make=*/false), "");
  EXPECT_EQ(executed_files(place_.system, run_, /*make=*/false)->path, run_.path);
  (void)submit_folder(place_.system, run_.path);
  EXPECT_FALSE(fs::exists(*state_folder(place_.system) + "/kept"));
}

/// They are more files than these.
TEST_F(KeptFiles, OfComponentsAreNotMadeAnew) {
  open_to_others();
  store_own();
  fs::create_directories(run_.path + "/components/a");
  EXPECT_THAT(files().error().what, HasSubstr("it has components"));
}

TEST_F(KeptFiles, AreWaitedForWhereTheRunCannotBeRead) {
  open_to_others();
  store_own();
  fs::remove(run_.plan_json());
  EXPECT_EQ(files().error().kind, ErrorKind::bad_request);
  EXPECT_THAT(files().error().what, HasSubstr("(plan.json is missing)"));
  fs::remove(run_.job_yaml());
  const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  ASSERT_LT(run_.job_yaml().size(), sizeof address.sun_path);
  run_.job_yaml().copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  close(socket);
  EXPECT_EQ(files().error().kind, ErrorKind::unavailable) << "an error of open()";
}

/// Nobody looks for the runs, whose disk may hang.
TEST_F(KeptFiles, AreForgottenWhenTheyAreOld) {
  open_to_others();
  const auto copies = make_copies();
  const auto age = [&](int days) {
    fs::last_write_time(copies, fs::file_time_type::clock::now() - std::chrono::hours(24 * days));
    kept_folder(place_.system, place_.path_of("project/newer"), /*make=*/true);
  };
  age(390);
  EXPECT_TRUE(fs::exists(copies));
  age(410);
  EXPECT_FALSE(fs::exists(copies));
}

TEST_F(KeptFiles, AreKnownByTheRunsIdWhereItWasMoved) {
  open_to_others();
  const auto script = make_copies() + "/job.sbatch";
  const auto moved = place_.path_of("project/moved");
  std::ofstream(run_.path + "/.run-id") << "0123456789abcdef";
  fs::rename(run_.path, moved);
  EXPECT_FALSE(is_script_of({.path = moved}, script));
  std::ofstream(fs::path(script).parent_path() / ".run-id") << "0123456789abcdef";
  EXPECT_TRUE(is_script_of({.path = moved}, script));
  std::ofstream(moved + "/.run-id") << "0123456789abcdee";
  EXPECT_FALSE(is_script_of({.path = moved}, script));
}

/// Relative commands start from there.
TEST_F(KeptFiles, SayWhereTheRunWasSubmitted) {
  std::ofstream(run_.plan_json()) << R"({"work_dir": "/home/mallory"})";
  EXPECT_EQ(submit_folder(place_.system, run_.path), "/home/mallory");
  open_to_others();
  fs::permissions(run_.path, fs::perms::all);
  EXPECT_EQ(submit_folder(place_.system, run_.path), std::nullopt);
  const auto copies = make_copies(R"({"work_dir": "/home/alice/gone"})");
  EXPECT_EQ(submit_folder(place_.system, run_.path), "/home/alice/gone");
  auto dir = run_.path;
  auto file = copies + "/job.yaml";
  const auto entered = enter_submit_folder(place_.system, dir, file);
  ASSERT_FALSE(entered) << "it does not continue elsewhere with its own job file";
  EXPECT_THAT(entered.error().what, HasSubstr("/home/alice/gone"));
}

/// Where a site removes comments, the script tells the run's job.
TEST_F(KeptFiles, AreTheScriptOfTheJob) {
  open_to_others();
  const auto copies = make_copies();
  std::ofstream(run_.sbatch_script()) << "#!/bin/bash\n";
  remember_job(place_.system, run_, "7", "dllaunch:0123456789abcdef", copies + "/job.sbatch");
  EXPECT_EQ(identity_of({}, run_, "7").script, copies + "/job.sbatch");
}

}  // namespace
}  // namespace dllaunch
