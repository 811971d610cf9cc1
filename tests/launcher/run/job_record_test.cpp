#include "launcher/run/job_record.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include "tests/launcher/disk_system.hpp"

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
  remember_job(system_, run_, "7", token);
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
  remember_job(system_, run_, "7", token);
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

}  // namespace
}  // namespace dllaunch
