#include "launcher/slurm/slurm_messages.hpp"

#include <gtest/gtest.h>

namespace dllaunch {
namespace {

TEST(SlurmMessages, OptionErrorsAreThoseOfTheOptionParser) {
  for (const char* message :
       {"sbatch: unrecognized option '--bogus'\nTry \"sbatch --help\" for more information",
        "sbatch: error: Invalid --time specification",
        "sbatch: option '--no' is ambiguous; possibilities: '--nodes' '--no-kill'"})
    EXPECT_TRUE(is_option_error(message)) << message;
  EXPECT_FALSE(is_option_error("sbatch: error: Batch job submission failed: Invalid account"));
}

TEST(SlurmMessages, TheControllerRefusesOrIsNotHeard) {
  EXPECT_TRUE(is_refusal_of_controller(
      "sbatch: error: Batch job submission failed: Invalid account or account/partition"));
  for (const char* lost :
       {"sbatch: error: Batch job submission failed: Socket timed out on send/recv operation",
        "sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect "
        "failure)",
        "sbatch: error: something else", ""})
    EXPECT_FALSE(is_refusal_of_controller(lost)) << lost;
  EXPECT_TRUE(is_silence_of_controller("Unable to contact slurm controller (connect failure)"));
  EXPECT_TRUE(is_silence_of_controller("Socket timed out on send/recv operation"));
  EXPECT_FALSE(is_silence_of_controller("Job is pending execution for job 17"));
}

TEST(SlurmMessages, WhatIsNotKnownIsNotSilence) {
  EXPECT_TRUE(is_unknown_job("slurm_load_jobs error: Invalid job id specified"));
  EXPECT_TRUE(has_no_accounting("Slurm accounting storage is disabled"));
  EXPECT_TRUE(has_no_submit_lines("sacct: error: Invalid field requested: \"SubmitLine\""));
  for (const char* other : {"", "slurm_load_jobs error: Unable to contact slurm controller"}) {
    EXPECT_FALSE(is_unknown_job(other));
    EXPECT_FALSE(has_no_accounting(other));
    EXPECT_FALSE(has_no_submit_lines(other));
  }
}

TEST(SlurmMessages, ATestMayOnlyMeanLater) {
  const auto* taken = "allocation failure: Requested node configuration is not available";
  EXPECT_TRUE(may_only_mean_later(taken, true));
  EXPECT_FALSE(may_only_mean_later(taken, false));
  EXPECT_TRUE(may_only_mean_later("allocation failure: Requested nodes are busy", false));
  EXPECT_FALSE(may_only_mean_later("allocation failure: Invalid qos specification", true));
}

TEST(SlurmMessages, AnEstimateIsOneLineWithoutItsPreamble) {
  EXPECT_EQ(start_estimate_in("sbatch: Job 5 to start at 2026-11-21T11:22:45 on nodes n1; more"),
            "start at 2026-11-21T11:22:45 on nodes n1");
  EXPECT_EQ(start_estimate_in("allocation failure"), "");
}

}  // namespace
}  // namespace dllaunch
