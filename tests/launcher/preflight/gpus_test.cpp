#include <gmock/gmock.h>

#include <cstdlib>

#include "launcher/preflight/gpu_state.hpp"
#include "tests/launcher/preflight/node_samples.hpp"
#include "tests/support/fake_system.hpp"

namespace dllaunch {
namespace {

const PreflightRequest in_job{.job_id = "7"};

Json files_only(int files, int promised) {
  return {{"nvidia_files", files},
          {"nvml", {{"found", false}, {"why", "libnvidia-ml.so.1 is not on this machine"}}},
          {"promised", promised}};
}

Json stand_in(const char* behaviour, int promised = 2) {
  setenv("DLLAUNCH_FAKE_GPUS", behaviour, 1);
  Json seen{{"nvidia_files", 2},
            {"nvml", read_nvml_states(DLLAUNCH_FAKE_NVML_STATE)},
            {"promised", promised}};
  unsetenv("DLLAUNCH_FAKE_GPUS");
  return seen;
}

TEST(PreflightGpus, AreCountedByTheirFilesWhereThereIsNoLibrary) {
  EXPECT_EQ(
      judged("gpus", in_job, {sample("n1", files_only(2, 2)), sample("n2", files_only(1, 2))}),
      (Words{"n1 ok", "n2 fail: 1 GPU where the job has 2"}));
  EXPECT_EQ(judged("gpus", {.job_id = "7", .gpus_per_node = 4}, {sample("n1", files_only(2, 2))}),
            Words{"n1 fail: 2 GPUs where the job has 4"});
}

TEST(PreflightGpus, OfOthersAreNoneOfTheJobs) {
  auto seen = files_only(0, 0);
  seen.erase("promised");
  auto others = files_only(4, 0);
  others.erase("promised");
  EXPECT_EQ(judged("gpus", in_job, {sample("n1", seen), sample("n2", others)}),
            (Words{"n1 ok", "n2 ok"}));
}

TEST(PreflightGpus, ThatTheLibraryMissesAreNamed) {
  EXPECT_EQ(judged("gpus", in_job, {sample("n1", stand_in(""))}), Words{"n1 ok"});
  EXPECT_EQ(judged("gpus", in_job, {sample("n1", stand_in("lost"))}),
            Words{"n1 fail: 1 GPU where the job has 2 (GPU 1: GPU is lost)"});
  EXPECT_EQ(judged("gpus", in_job, {sample("n1", stand_in("no-driver"))}),
            Words{"n1 fail: nvmlInit: Driver Not Loaded"});
  EXPECT_EQ(
      judged("gpus", in_job, {sample("n1", stand_in("")), sample("n2", files_only(2, 2))}),
      (Words{"n1 ok", "n2 fail: the other nodes have NVIDIA's library, and this one does not"}));
}

TEST(PreflightGpus, AreFreeWellAndNotSlowedDown) {
  const std::vector<std::pair<const char*, const char*>> faults = {
      {"full", "fail: 30.0 of 80.0 GiB are taken, by 3 processes"},
      {"hot", "fail: its hardware slows it down: heat, or power that failed"},
      {"slow-clock", "warn: its clock is set to 900 MHz of 1980"},
      {"ecc", "fail: 4 memory errors that could not be corrected"},
      {"remap", "warn: broken memory rows wait for a reset to be replaced"},
      {"narrow", "warn: its PCIe link has 8 lanes of 16"}};
  for (const auto& [behaviour, words] : faults)
    EXPECT_EQ(judged("gpus", in_job, {sample("n1", stand_in(behaviour))}),
              (Words{"n1 ok", std::string("n1 GPU 1 ") + words}))
        << behaviour;
}

/// Another job's GPU may be full: that is what it is for.
TEST(PreflightGpus, OfOtherJobsOnTheNodeAreNotJudged) {
  auto seen = stand_in("full", 1);
  seen["CUDA_VISIBLE_DEVICES"] = "0";
  EXPECT_EQ(judged("gpus", in_job, {sample("n1", seen)}), Words{"n1 ok"});
  seen["CUDA_VISIBLE_DEVICES"] = "GPU-2";
  EXPECT_EQ(judged("gpus", in_job, {sample("n1", seen)}),
            (Words{"n1 ok", "n1 GPU 1 fail: 30.0 of 80.0 GiB are taken, by 3 processes"}));
  seen.erase("CUDA_VISIBLE_DEVICES");
  EXPECT_EQ(judged("gpus", in_job, {sample("n1", seen)}),
            (Words{"n1 ok", "n1 GPU 1 warn: 30.0 of 80.0 GiB are taken, by 3 processes"}))
      << "whose it is cannot be told";
}

TEST(PreflightGpus, OutsideAJobAreThoseThatMostNodesHave) {
  EXPECT_EQ(judged("gpus", {}, {sample("n1", stand_in("full"))}),
            (Words{"n1 ok", "n1 GPU 1 fail: 30.0 of 80.0 GiB are taken, by 3 processes"}));
}

TEST(PreflightGpus, AreLookedForHere) {
  FakeSystem system;
  system.variables["SLURM_GPUS_ON_NODE"] = "4";
  const PreflightRequest request;
  const auto seen = check_named("gpus").observe({request, system, "n1", "/nowhere"}, "");
  ASSERT_TRUE(seen);
  EXPECT_EQ(number_of(*seen, "promised"), 4);
  EXPECT_EQ(number_of(*seen, "nvidia_files"), 0);
}

}  // namespace
}  // namespace dllaunch
