#include "topology/node/pci_gpu.hpp"

#include <gtest/gtest.h>

namespace dllaunch {
namespace {

TEST(PciGpu, IsADisplayOrProcessingDevice) {
  for (const int device_class : {0x0300, 0x0302, 0x0380, 0x1200})
    EXPECT_TRUE(is_pci_gpu({device_class, 0x10de})) << std::hex << device_class;
  EXPECT_TRUE(is_pci_gpu({0x1200, 0x0000})) << "a capture without vendors";
  EXPECT_TRUE(is_pci_gpu({0x0302, 0x0000}));
}

TEST(PciGpu, IsNoScreenAndNoOtherAccelerator) {
  for (const int vendor : {0x1a03, 0x102b, 0x19e5, 0x1234, 0x1af4, 0x126f})
    EXPECT_FALSE(is_pci_gpu({0x0300, vendor})) << std::hex << vendor;
  // QAT, DLB, MIC and Vector Engines; network, bridge.
  for (const int device_class : {0x0b40, 0x1180, 0x0200, 0x0207, 0x0604})
    EXPECT_FALSE(is_pci_gpu({device_class, 0x8086})) << std::hex << device_class;
}

TEST(PciGpu, AmdsScreensOnMainboardsDoNotCompute) {
  for (const int screen : {0x515e, 0x5969, 0x4752, 0x7142, 0x791e})  // ES1000 twice, Rage XL ...
    EXPECT_FALSE(is_pci_gpu({0x0300, 0x1002, screen})) << std::hex << screen;
  // Radeon HD 2900, FirePro S9150, R9 280X, MI25, MI50, MI100, MI250X, MI300A, Radeon Pro W7900.
  for (const int gpu : {0x9400, 0x67a0, 0x6798, 0x6860, 0x66a1, 0x738c, 0x7408, 0x74a0, 0x7448})
    EXPECT_TRUE(is_pci_gpu({0x0300, 0x1002, gpu})) << std::hex << gpu;
}

TEST(PciGpu, KnowsThreeMakers) {
  EXPECT_EQ(pci_gpu_vendor(0x10de), "nvidia");
  EXPECT_EQ(pci_gpu_vendor(0x1002), "amd");
  EXPECT_EQ(pci_gpu_vendor(0x8086), "intel");
  EXPECT_EQ(pci_gpu_vendor(0x0000), "other");
}

}  // namespace
}  // namespace dllaunch
