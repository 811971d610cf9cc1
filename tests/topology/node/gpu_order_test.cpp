#include "topology/node/gpu_order.hpp"

#include <gtest/gtest.h>

namespace dllaunch {
namespace {

TEST(GpuOrder, GivesFreeNumbersInPciOrder) {
  std::vector<Gpu> gpus{{.index = unnumbered_gpu, .vendor = "amd", .pci = "0000:01:00.0"},
                        {.index = 0, .vendor = "amd", .pci = "0000:02:00.0"},
                        {.index = unnumbered_gpu, .vendor = "amd", .pci = "0000:03:00.0"}};
  number_and_sort(gpus);
  EXPECT_EQ(gpus[0].pci, "0000:02:00.0");
  EXPECT_EQ(gpus[1].pci, "0000:01:00.0");
  EXPECT_EQ(gpus[1].index, 1);
  EXPECT_EQ(gpus[2].index, 2);
}

TEST(GpuOrder, CountsEachVendorForItself) {
  std::vector<Gpu> gpus{{.index = unnumbered_gpu, .vendor = "intel"},
                        {.index = unnumbered_gpu, .vendor = "amd"},
                        {.index = unnumbered_gpu, .vendor = "nvidia"}};
  number_and_sort(gpus);
  EXPECT_EQ(gpus[0].vendor, "nvidia");
  EXPECT_EQ(gpus[1].vendor, "amd");
  EXPECT_EQ(gpus[2].vendor, "intel");
  for (const auto& gpu : gpus) EXPECT_EQ(gpu.index, 0);
}

}  // namespace
}  // namespace dllaunch
