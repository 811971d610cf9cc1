// NVML through a fake built here: this test needs no NVIDIA GPU.
#include "topology/discovery/nvml.hpp"

#include <gtest/gtest.h>

#include "tests/topology/discovery/fake_libraries.hpp"

namespace dllaunch {
namespace {

TEST(Nvml, NamesGpusByAddressWithDomain) {
  const FakeGpus four("");
  const auto answer = read_nvml(fake_nvml);
  EXPECT_EQ(answer.why, "");
  EXPECT_EQ(answer.driver, "550.54.15");
  ASSERT_EQ(answer.gpus.size(), 4u);
  EXPECT_EQ(answer.gpus[1].pci, "0000:0f:00.0");
  EXPECT_EQ(answer.gpus[3].pci, "0001:0f:00.0");
  EXPECT_EQ(answer.gpus[3].uuid, "GPU-4");
  EXPECT_EQ(answer.gpus[3].name, "Fake GPU");
  EXPECT_EQ(answer.gpus[3].index, 3);
  EXPECT_EQ(answer.gpus[3].partition, -1);
  EXPECT_EQ(answer.gpus[3].mode, "");
}

TEST(Nvml, CountsLinksToGpusAndThroughSwitches) {
  const FakeGpus four("");
  const auto answer = read_nvml(fake_nvml);
  ASSERT_EQ(answer.gpus.size(), 4u);
  ASSERT_EQ(answer.gpus[0].links.size(), 3u);
  const auto& direct = answer.gpus[0].links[0];
  EXPECT_EQ(direct.pci, "0000:0f:00.0");
  EXPECT_EQ(direct.kind, "nvlink");
  EXPECT_EQ(direct.count, 4);
  EXPECT_EQ(direct.path, "pxb");
  EXPECT_TRUE(direct.p2p);
  const auto& far = answer.gpus[0].links[2];
  EXPECT_EQ(far.kind, "pcie");
  EXPECT_EQ(far.count, 0);
  EXPECT_EQ(far.path, "sys");
  EXPECT_FALSE(far.p2p);
  const auto& switched = answer.gpus[3].links[2];
  EXPECT_EQ(switched.pci, "0001:07:00.0");
  EXPECT_EQ(switched.kind, "nvlink");
  EXPECT_EQ(switched.count, 12);
}

TEST(Nvml, CountsEveryMigInstance) {
  const FakeGpus mig("mig");
  const auto answer = read_nvml(fake_nvml);
  ASSERT_EQ(answer.gpus.size(), 5u);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(answer.gpus[i].index, static_cast<int>(i));
  EXPECT_EQ(answer.gpus[1].uuid, "MIG-20");
  EXPECT_EQ(answer.gpus[2].uuid, "MIG-23");
  EXPECT_EQ(answer.gpus[1].partition, 0);
  EXPECT_EQ(answer.gpus[2].partition, 1);
  EXPECT_EQ(answer.gpus[2].pci, answer.gpus[1].pci);
  EXPECT_EQ(answer.gpus[2].mode, "MIG");
  EXPECT_TRUE(answer.gpus[2].links.empty()) << "an instance reaches no other GPU";
  EXPECT_EQ(answer.gpus[3].partition, -1);
}

TEST(Nvml, PassesOverALostGpuAndKeepsTheOthersNumbers) {
  const FakeGpus lost("lost");
  const auto answer = read_nvml(fake_nvml);
  ASSERT_EQ(answer.gpus.size(), 3u);
  EXPECT_EQ(answer.gpus[1].index, 2);
}

TEST(Nvml, SaysWhyThereIsNoAnswer) {
  const FakeGpus no_driver("no-driver");
  const auto refused = read_nvml(fake_nvml);
  EXPECT_TRUE(refused.found);
  EXPECT_EQ(refused.why, "nvmlInit: Driver Not Loaded");
  const auto absent = read_nvml("libno-such-library.so.1");
  EXPECT_FALSE(absent.found);
  EXPECT_EQ(absent.why, "libno-such-library.so.1 is not on this machine");
  // Not NVML at all.
  const auto other = read_nvml(fake_rocm_smi);
  EXPECT_TRUE(other.found);
  EXPECT_EQ(other.why, fake_rocm_smi + " has no nvmlInit_v2");
}

}  // namespace
}  // namespace dllaunch
