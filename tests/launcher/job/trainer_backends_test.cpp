#include "launcher/job/trainer_backends.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/json.hpp"
#include "topology/node/synthetic.hpp"

namespace dllaunch {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const std::vector<TrainerBackend> both = {
    {.name = "cuda", .device = "cuda", .precisions = {"fp32", "bf16"}},
    {.name = "onednn", .device = "cpu", .precisions = {"fp32", "bf16"}},
    {.name = "reference", .device = "cpu", .precisions = {"fp32", "fp64"}}};

Topology node_of(const std::string& vendor) {
  Topology node = *synthetic_topology("numa:2 cores:4 gpus:2");
  for (Gpu& gpu : node.gpus) gpu.vendor = vendor;
  return node;
}

TEST(TrainerBackends, AreReadFromWhatTheTrainerSays) {
  const Json schema = Json::parse(R"({"properties": {"backend": {"x-backends": [
      {"name": "cuda", "device": "cuda", "precisions": ["fp32"], "gpu_memory": true}, {}]}}})");
  const auto read = trainer_backends(schema);
  ASSERT_EQ(read.size(), 2U);
  EXPECT_EQ(read[0].name, "cuda");
  EXPECT_EQ(read[0].device, "cuda");
  EXPECT_THAT(read[0].precisions, ElementsAre("fp32"));
  EXPECT_TRUE(read[0].gpu_memory);
  EXPECT_FALSE(read[1].gpu_memory);
  EXPECT_THAT(trainer_backends(Json::object()), IsEmpty());
}

TEST(TrainerBackends, OfThisBuildComputeOnCpusAtLeast) {
  const auto on_cpus = backends_for(trainer_backends(), "auto", "cpu");
  ASSERT_FALSE(on_cpus.empty());
  EXPECT_EQ(on_cpus.back().name, "reference");
  EXPECT_THAT(on_cpus.back().precisions, ElementsAre("fp32", "fp64"));
}

TEST(TrainerBackends, AJobLeavesSomeToChooseFrom) {
  EXPECT_EQ(backends_for(both, "auto", "auto").size(), 3U);
  EXPECT_EQ(backends_for(both, "auto", "cpu").size(), 2U);
  EXPECT_EQ(backends_for(both, "cuda", "auto").size(), 1U);
  EXPECT_THAT(backends_for(both, "cuda", "cpu"), IsEmpty());
}

TEST(TrainerBackends, APrecisionThatNoneHasIsAProblem) {
  EXPECT_EQ(precision_problem(both, "fp64"), "");
  EXPECT_EQ(precision_problem(both, "fp16"),
            "train.precision fp16: no backend of this build trains in it; use bf16, or fp32");
  EXPECT_EQ(precision_problem(backends_for(both, "auto", "cuda"), "fp64"),
            "train.precision fp64: backend cuda has fp32, bf16");
  EXPECT_EQ(precision_problem({}, "fp16"), "") << "another key is wrong then";
}

TEST(TrainerBackends, OnlyParametersOnGpusAreReducedThere) {
  EXPECT_NE(gpu_memory_problem(both, "fp32"), "");
  auto later = both;
  later[0].gpu_memory = true;
  EXPECT_EQ(gpu_memory_problem(later, "fp32"), "");
  EXPECT_EQ(gpu_memory_problem(later, "bf16"), "");
  EXPECT_NE(gpu_memory_problem(backends_for(later, "auto", "cpu"), "fp32"), "");
}

TEST(TrainerBackends, ReduceOnGpusOnlyWhatTheyComputeThere) {
  auto later = both;
  later[0].gpu_memory = true;
  EXPECT_EQ(gpu_memory_problem(later, "fp64"),
            "runtime.allreduce nccl reduces memory of GPUs; what trains in precision fp64 has its "
            "parameters in memory of the host: use auto, or another precision");
  EXPECT_EQ(gpu_memory_problem(later, "fp8"), "") << "precision_problem() tells that";
}

TEST(TrainerBackends, DriveTheGpusOfTheirVendor) {
  EXPECT_THAT(gpu_devices(both), ElementsAre("cuda"));
  EXPECT_TRUE(drives_gpus_of(node_of("nvidia"), {"cuda"}));
  EXPECT_FALSE(drives_gpus_of(node_of("amd"), {"cuda"}));
  EXPECT_TRUE(drives_gpus_of(node_of("amd"), {"cuda", "hip"}));
  EXPECT_TRUE(drives_gpus_of(node_of("other"), {"cuda"})) << "their vendor is unknown";
  EXPECT_FALSE(drives_gpus_of(node_of("nvidia"), {}));
  EXPECT_TRUE(drives_gpus_of(*synthetic_topology("cores:4"), {"cuda"})) << "there is none";
}

}  // namespace
}  // namespace dllaunch
