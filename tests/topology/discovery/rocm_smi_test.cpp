// ROCm SMI through a fake built here: this test needs no AMD GPU.
#include "topology/discovery/rocm_smi.hpp"

#include <gtest/gtest.h>

#include "tests/topology/discovery/fake_libraries.hpp"

namespace dllaunch {
namespace {

TEST(RocmSmi, KeepsItsOwnOrder) {
  const FakeGpus two("");
  const auto answer = read_rocm_smi(fake_rocm_smi);
  EXPECT_EQ(answer.why, "");
  EXPECT_EQ(answer.driver, "6.8.5");
  ASSERT_EQ(answer.gpus.size(), 2u);
  EXPECT_EQ(answer.gpus[0].pci, "0002:c1:00.0");
  EXPECT_EQ(answer.gpus[1].pci, "0002:11:00.0");
  EXPECT_EQ(answer.gpus[1].index, 1);
  EXPECT_EQ(answer.gpus[1].uuid, "GPU-000000000000abc1");
  EXPECT_EQ(answer.gpus[1].mode, "SPX/NPS1");
  EXPECT_EQ(answer.gpus[1].partition, -1);
  ASSERT_EQ(answer.gpus[0].links.size(), 1u);
  EXPECT_EQ(answer.gpus[0].links[0].kind, "xgmi");
  EXPECT_EQ(answer.gpus[0].links[0].count, 4);
  EXPECT_TRUE(answer.gpus[0].links[0].p2p);
}

TEST(RocmSmi, PutsPartitionsAtOneAddress) {
  const FakeGpus cut("cpx");
  const auto answer = read_rocm_smi(fake_rocm_smi);
  ASSERT_EQ(answer.gpus.size(), 6u);
  for (int i = 0; i < 6; ++i) {
    const auto& gpu = answer.gpus[static_cast<std::size_t>(i)];
    EXPECT_EQ(gpu.index, i);
    EXPECT_EQ(gpu.partition, i % 3);
    EXPECT_EQ(gpu.pci, i < 3 ? "0002:c1:00.0" : "0002:11:00.0");
    EXPECT_EQ(gpu.mode, "CPX/NPS1");
    ASSERT_EQ(gpu.links.size(), 5u);
  }
  EXPECT_EQ(answer.gpus[0].links[0].partition, 1);
  EXPECT_EQ(answer.gpus[0].links[0].kind, "pcie");
  EXPECT_EQ(answer.gpus[0].links[4].partition, 2);
  EXPECT_EQ(answer.gpus[0].links[4].kind, "xgmi");
}

TEST(RocmSmi, SaysWhyThereIsNoAnswer) {
  EXPECT_EQ(read_rocm_smi("libno-such-library.so").why,
            "libno-such-library.so is not on this machine");
  EXPECT_EQ(read_rocm_smi(fake_nvml).why, fake_nvml + " has no rsmi_init");
}

}  // namespace
}  // namespace dllaunch
