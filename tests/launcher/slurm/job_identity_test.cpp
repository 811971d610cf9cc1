#include "launcher/slurm/job_identity.hpp"

#include <gtest/gtest.h>

#include <string>

namespace dllaunch {
namespace {

const JobIdentity ours{.id = "7",
                       .name = "train a",
                       .script = "/runs/a/job.sbatch",
                       .token = "dllaunch:00000000000000aa",
                       .submitted_s = 1};

JobOrigin said(const std::string& words, const std::string& token = "") {
  return {.words = words, .token = token};
}

TEST(JobIdentity, TokensDecideWhereBothAreKnown) {
  EXPECT_TRUE(is_same_job(ours, said("x|renamed|/var/spool/copy.sh", ours.token)));
  EXPECT_FALSE(
      is_same_job(ours, said("x|train a|/runs/a/job.sbatch", "dllaunch:00000000000000ab")));
}

TEST(JobIdentity, WithoutATokenInItsCommentTheScriptDecides) {
  EXPECT_TRUE(is_same_job(ours, said("(null)|renamed|/runs/a/job.sbatch")));
  EXPECT_FALSE(is_same_job(ours, said("(null)|train a|/home/me/train.sh")));
  EXPECT_TRUE(is_same_job(ours, said("|train a|"))) << "accounting knows no script";
  EXPECT_FALSE(is_same_job(ours, said("|train b|")));
  EXPECT_TRUE(is_same_job(ours, said("")));
}

/// An older version's run: RUN/job.json has no token, or there is none.
TEST(JobIdentity, WithoutARecordNameOrScriptIsEnough) {
  JobIdentity old = ours;
  old.token.clear();
  old.submitted_s = 0;
  for (const char* words : {"", "|train a|/runs/a/job.sbatch", "|renamed|/runs/a/job.sbatch",
                            "a | comment|train a|/var/spool/copy-of-it.sh", "|train a|"})
    EXPECT_TRUE(is_same_job(old, said(words, "dllaunch:00000000000000ab"))) << words;
  for (const char* words : {"|wrap|(null)", "|other|/home/bob/x.sh", "|train a|/runs/b/job.sbatch",
                            "|train|/x", "|", "train a", "7"})
    EXPECT_FALSE(is_same_job(old, said(words))) << words;
}

TEST(JobIdentity, OneThatWasSubmittedBeforeIsNot) {
  JobIdentity late = ours;
  late.submitted_s = static_cast<double>(parse_slurm_time("2026-11-20T19:57:20").value_or(0));
  SlurmJob job;
  job.origin = said("|train a|");
  job.submit = "2026-11-20T19:20:00";
  EXPECT_TRUE(is_same_job(late, job)) << "clocks differ";
  job.submit = "2026-11-19T18:50:00";
  EXPECT_FALSE(is_same_job(late, job));
  job.origin.token = ours.token;
  EXPECT_TRUE(is_same_job(late, job)) << "the token says more";
  job.origin.token.clear();
  job.submit = "2026-11-22T10:00:00";
  EXPECT_TRUE(is_same_job(late, job)) << "requeued";
  job.submit = "Unknown";
  EXPECT_TRUE(is_same_job(late, job));
}

/// A user calls his script as he likes, job.sbatch too.
TEST(JobIdentity, OfAScriptThatIsNotKnownTheNameCounts) {
  const JobIdentity by_hand{.id = "7", .name = "train a", .script = ""};
  EXPECT_TRUE(is_same_job(by_hand, said("|train a|/home/me/job.sbatch")));
  EXPECT_FALSE(is_same_job(by_hand, said("|wrap|/home/me/job.sbatch")));
}

TEST(JobIdentity, TheScriptIsBehindTheLastBar) {
  EXPECT_EQ(script_of(said("a|comment|train a|/home/me/a.sh")), "/home/me/a.sh");
  EXPECT_EQ(script_of(said("|train a|")), "");
  EXPECT_EQ(script_of(said("")), "");
}

}  // namespace
}  // namespace dllaunch
