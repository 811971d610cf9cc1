#include "launcher/run/job_record.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include "launcher/run/kept_files.hpp"
#include "tests/launcher/disk_system.hpp"
#include "tests/support/one_owner.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;

const std::string token = "dllaunch:00000000000000aa";

JobOrigin said(const std::string& words) {
  return {.words = words};
}

TEST(JobRecord, AnOwnScriptIsRemembered) {
  DiskSystem system;
  const RunDir run{.path = system.folder.path()};
  RunOutline plan;
  plan.name = "a";
  SlurmJob job;
  job.id = "7";
  job.submit = "2026-11-20T19:57:20";
  job.origin = said("|a|/home/me/a.sh");
  remember_own_script(system, run, job);
  const auto known = identity_of(plan, run, "7");
  EXPECT_EQ(known.script, "/home/me/a.sh");
  EXPECT_TRUE(is_same_job(known, said("|a|/home/me/a.sh")));
  EXPECT_FALSE(is_same_job(known, said("|a|/home/me/b.sh")));
  EXPECT_EQ(identity_of(plan, run, "8").script, "") << "of another job";
}

TEST(JobRecord, TheNameIsThatOfSbatch) {
  const TemporaryFolder folder;
  const RunDir run{.path = folder.path()};
  RunOutline plan;
  plan.name = "a";
  EXPECT_EQ(identity_of(plan, run, "7").name, "a");
  EXPECT_EQ(identity_of(plan, run, "7").script, "");
  plan.sbatch = {{"--job-name", "b"}};
  EXPECT_EQ(identity_of(plan, run, "7").name, "b");
  std::ofstream(run.sbatch_script()).flush();
  EXPECT_EQ(identity_of(plan, run, "7").script, run.sbatch_script());
}

class ClusterOfJob : public testing::Test {
 protected:
  void on(const std::string& cluster) {
    system_.respond = [cluster](const std::vector<std::string>&) {
      return Result<CommandOutput>(CommandOutput{0, "ClusterName = " + cluster + "\n", ""});
    };
  }
  DiskSystem system_;
  RunDir run_{.path = system_.folder.path()};
};

TEST_F(ClusterOfJob, IsRememberedAndCompared) {
  EXPECT_TRUE(check_cluster(system_, run_, "7")) << "nothing is known";
  on("alpha");
  remember_job(system_, run_, "7", token, run_.sbatch_script());
  EXPECT_EQ(identity_of({}, run_, "7").token, token);
  EXPECT_GT(identity_of({}, run_, "7").submitted_s, 1e9);
  EXPECT_TRUE(check_cluster(system_, run_, "7"));
  on("beta");
  EXPECT_TRUE(check_cluster(system_, run_, "8")) << "of another job";
  const auto elsewhere = check_cluster(system_, run_, "7");
  ASSERT_FALSE(elsewhere);
  EXPECT_EQ(elsewhere.error().kind, ErrorKind::unavailable);
  EXPECT_THAT(elsewhere.error().what,
              HasSubstr("submitted on cluster alpha, this is cluster beta"));
  system_.respond = {};
  EXPECT_TRUE(check_cluster(system_, run_, "7")) << "the current cluster is unknown";
}

TEST_F(ClusterOfJob, ADamagedRecordSaysNothing) {
  on("alpha");
  for (const char* text : {"", "{", "[]", "{}", R"({"id": 7, "cluster": "b"})",
                           R"({"id": "7", "cluster": 3})", R"({"id": "7"})"}) {
    std::ofstream(run_.path + "/job.json") << text;
    EXPECT_TRUE(check_cluster(system_, run_, "7")) << text;
  }
}

/// Whatever stands in RUN/job.json, what is taken from it is what such a record may hold.
TEST_F(ClusterOfJob, MutatedRecordsSayWhatARecordMaySayOrNothing) {
  remember_job(system_, run_, "7", token, run_.sbatch_script());
  const auto sound = *system_.read_file(run_.path + "/job.json");
  std::mt19937 random(7);
  const std::string letters = "{}[]\":,\\0x7-.eE\n\xff";
  for (int round = 0; round < 2000; ++round) {
    std::string text = sound;
    for (unsigned edits = 1 + random() % 4; edits > 0 && !text.empty(); --edits) {
      const auto at = random() % text.size();
      const auto how = random() % 3;
      if (how == 0) text[at] = letters[random() % letters.size()];
      if (how == 1) text.insert(at, 1, letters[random() % letters.size()]);
      if (how == 2) text.erase(at, random() % 20);
    }
    std::ofstream(run_.path + "/job.json", std::ios::binary) << text;
    const auto known = identity_of({}, run_, "7");
    EXPECT_TRUE(known.token.empty() || token_in(known.token) == known.token) << text;
    const auto checked = check_cluster(system_, run_, "7");
    EXPECT_TRUE(checked || checked.error().kind == ErrorKind::unavailable) << text;
  }
  std::ofstream(run_.path + "/job.json") << std::string(60000, '[');
  EXPECT_EQ(identity_of({}, run_, "7").token, "");
}

/// A run of job 7, and what Slurm tells of that job.
class OwnJob : public testing::Test {
 protected:
  OwnJob() {
    plan_.name = "a";
    tell();
    remember_job(system_, run_, "7", token, run_.sbatch_script());
    for (const auto& path : {run_.plan_json(), run_.job_id(), run_.sbatch_script()})
      std::ofstream(path) << "{}";
  }
  /// Fields in place of the run's.
  void tell(const std::string& user = std::to_string(getuid()), const std::string& name = "a",
            const std::string& script = "", const std::string& folder = "") {
    system_.answers["scontrol show job 7"] = {
        0,
        "JobId=7 JobName=" + name + "\n   UserId=me(" + user +
            ") GroupId=me(1)\n   Command=" + (script.empty() ? run_.sbatch_script() : script) +
            "\n   WorkDir=" + (folder.empty() ? run_.path : folder) + "\n   Comment=" + token +
            "\n",
        ""};
  }
  std::string problem() {
    const auto own = check_own_job(system_, plan_, run_, "7");
    return own ? "" : own.error().what;
  }
  std::string made(const std::string& name) {
    const auto path = run_.path + "/" + name;
    std::filesystem::create_directory(path);
    return path;
  }

  DiskSystem system_;
  RunDir run_{.path = system_.folder.path()};
  RunOutline plan_;
};

TEST_F(OwnJob, IsOfTheDirectorysOwner) {
  EXPECT_EQ(problem(), "");
  tell(std::to_string(getuid() + 1));
  if (getuid() == 0) {
    EXPECT_EQ(problem(), "") << "root's directory is anyone's";
    GTEST_SKIP() << "root owns all files here: slurm_forged_test has two users";
  }
  EXPECT_THAT(problem(), HasSubstr("job 7 is not that of " + run_.path + ": it is a job of "));
  EXPECT_THAT(problem(), HasSubstr(run_.path + " belongs to "));
}

TEST_F(OwnJob, EachFileThatNamesItIsItsUsers) {
  if (getuid() != 0) GTEST_SKIP() << "needs root";
  for (const auto& path :
       {run_.plan_json(), run_.job_id(), run_.job_json(), run_.sbatch_script(), run_.path}) {
    ASSERT_EQ(lchown(path.c_str(), 4711, 0), 0);
    EXPECT_THAT(problem(), HasSubstr(path + " belongs to uid 4711; nothing was done"));
    ASSERT_EQ(lchown(path.c_str(), 0, 0), 0);
  }
  std::filesystem::remove(run_.job_id());
  std::filesystem::create_symlink(run_.plan_json(), run_.job_id());
  ASSERT_EQ(lchown(run_.job_id().c_str(), 4711, 0), 0);
  EXPECT_THAT(problem(), HasSubstr("/job.id belongs to uid 4711"));
}

/// As on 9p, exFAT or a FUSE mount.
TEST_F(OwnJob, WhereAllFilesHaveOneOwnerTheScriptTells) {
  if (getuid() != 0) GTEST_SKIP() << "needs root";
  for (const auto& path :
       {run_.plan_json(), run_.job_id(), run_.job_json(), run_.sbatch_script(), run_.path})
    ASSERT_EQ(lchown(path.c_str(), 4711, 0), 0);
  EXPECT_NE(problem(), "");
  shown_for_all = {4711, 0755};
  EXPECT_EQ(problem(), "");
  tell(std::to_string(getuid()), "a", made("other") + "/job.sbatch");
  EXPECT_THAT(problem(), HasSubstr("it is that of " + run_.path + "/other"));
  shown_for_all.reset();
}

TEST_F(OwnJob, HasTheRunsScriptNameAndFolder) {
  const auto me = std::to_string(getuid());
  tell(me, "a", made("other") + "/job.sbatch");
  EXPECT_THAT(problem(), HasSubstr("it is that of " + run_.path + "/other"));
  tell(me, "a", run_.path + "/gone/job.sbatch");
  EXPECT_EQ(problem(), "") << "the run was moved";
  tell(me, "b");
  EXPECT_EQ(problem(), "") << "its user has renamed it, and the script is the run's";
  const std::string copy = "/var/spool/site/script";
  tell(me, "a", copy);
  EXPECT_EQ(problem(), "") << "a site's sbatch submits a copy";
  tell(me, "b", copy);
  EXPECT_THAT(problem(), HasSubstr("it is named b, and the run's a"));
  std::ofstream(run_.plan_json()) << R"({"work_dir": ")" << run_.path << R"("})";
  EXPECT_THAT(problem(), HasSubstr("it is named b"));
  tell(me, "a", copy, made("elsewhere"));
  EXPECT_THAT(problem(), HasSubstr("it was submitted in " + run_.path + "/elsewhere"));
  std::ofstream(run_.sbatch_script()) << "#!/bin/bash\n#SBATCH --chdir=/tmp\n";
  EXPECT_EQ(problem(), "");
}

/// Where others can replace the run's directory (kept_files.hpp).
TEST_F(OwnJob, HasItsUsersCopyOfTheScript) {
  const TemporaryFolder home;
  system_.variables["XDG_STATE_HOME"] = home.path();
  const auto folder = [this](const std::string& run) {
    std::filesystem::permissions(run_.path, std::filesystem::perms::all);
    auto kept = kept_folder(system_, run, /*make=*/false);
    std::filesystem::permissions(run_.path, std::filesystem::perms::owner_all);
    return kept;
  };
  const auto me = std::to_string(getuid());
  const auto script = folder(run_.path + "/.") + "/job.sbatch";
  tell(me, "a", script);
  EXPECT_EQ(problem(), "");
  tell(me, "b", script);
  EXPECT_EQ(problem(), "") << "its user has renamed it";
  std::filesystem::create_directories(std::filesystem::path(script).parent_path());
  std::ofstream(script) << "#!/bin/bash\n";
  EXPECT_EQ(problem(), "");
  if (getuid() == 0) {
    ASSERT_EQ(chown(script.c_str(), 4711, 0), 0);
    EXPECT_NE(problem(), "") << "another user's copy";
  }
  const auto other = folder(made("other")) + "/job.sbatch";
  std::filesystem::create_directories(std::filesystem::path(other).parent_path());
  std::ofstream(other) << "#!/bin/bash\n";
  tell(me, "a", other);
  EXPECT_THAT(problem(), HasSubstr("it is that of ")) << "another run's";
  for (const auto& one : {run_.path, std::filesystem::path(other).parent_path().string()})
    std::ofstream(one + "/.run-id") << "0123456789abcdef";
  EXPECT_EQ(problem(), "") << "it was moved";
}

TEST_F(OwnJob, IsLeftAloneWhileSlurmIsSilent) {
  system_.answers["scontrol show job 7"] = {1, "",
                                            "slurm_load_jobs error: Invalid job id specified"};
  EXPECT_EQ(problem(), "") << "there is none to act on";
  system_.answers["scontrol show job 7"] = {1, "", "slurm_load_jobs error: Unable to contact"};
  EXPECT_THAT(problem(), HasSubstr("Slurm does not tell whose job 7 is"));
}

}  // namespace
}  // namespace dllaunch
