#include "launcher/job_identity.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/launcher/disk_world.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;

const JobIdentity ours{.id = "7", .name = "train a", .script = "/runs/a/job.sbatch"};

TEST(JobIdentity, NameOrScriptIsEnough) {
  for (const char* origin : {"", "train a|/runs/a/job.sbatch", "renamed|/runs/a/job.sbatch",
                             "train a|/var/spool/copy-of-it.sh", "train a|"})
    EXPECT_TRUE(is_same_job(ours, origin)) << origin;
}

TEST(JobIdentity, AnotherJobOfTheNumberIsNot) {
  for (const char* origin : {"wrap|(null)", "other|/home/bob/x.sh", "train a|/runs/b/job.sbatch",
                             "train|/x", "|", "train a", "7"})
    EXPECT_FALSE(is_same_job(ours, origin)) << origin;
}

/// A user calls his script as he likes, job.sbatch too.
TEST(JobIdentity, OfAScriptSubmittedByHandTheNameCounts) {
  const JobIdentity by_hand{.id = "7", .name = "train a", .script = ""};
  EXPECT_TRUE(is_same_job(by_hand, "train a|/home/me/job.sbatch"));
  EXPECT_FALSE(is_same_job(by_hand, "wrap|/home/me/job.sbatch"));
}

TEST(JobIdentity, TheNameIsThatOfSbatch) {
  const TemporaryFolder folder;
  const RunDir run{.path = folder.path()};
  LaunchPlan plan;
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
    world_.respond = [cluster](const std::vector<std::string>&) {
      return Result<CommandOutput>(CommandOutput{0, "ClusterName = " + cluster + "\n", ""});
    };
  }
  DiskWorld world_;
  RunDir run_{.path = world_.folder.path()};
};

TEST_F(ClusterOfJob, IsRememberedAndCompared) {
  EXPECT_TRUE(check_cluster(world_, run_, "7")) << "nothing is known";
  on("alpha");
  remember_cluster(world_, run_, "7");
  EXPECT_TRUE(check_cluster(world_, run_, "7"));
  on("beta");
  EXPECT_TRUE(check_cluster(world_, run_, "8")) << "of another job";
  const auto elsewhere = check_cluster(world_, run_, "7");
  ASSERT_FALSE(elsewhere);
  EXPECT_EQ(elsewhere.error().kind, ErrorKind::unavailable);
  EXPECT_THAT(elsewhere.error().what,
              HasSubstr("submitted on cluster alpha, this is cluster beta"));
  world_.respond = {};
  EXPECT_TRUE(check_cluster(world_, run_, "7")) << "nobody says where this is";
}

TEST_F(ClusterOfJob, ADamagedRecordSaysNothing) {
  on("alpha");
  for (const char* text : {"", "{", "[]", "{}", R"({"id": 7, "cluster": "b"})",
                           R"({"id": "7", "cluster": 3})", R"({"id": "7"})"}) {
    std::ofstream(run_.path + "/job.json") << text;
    EXPECT_TRUE(check_cluster(world_, run_, "7")) << text;
  }
}

}  // namespace
}  // namespace dllaunch
