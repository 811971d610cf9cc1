#include "topology/discovery/nvml_library.hpp"

#include <gtest/gtest.h>

#include "tests/topology/discovery/fake_libraries.hpp"

namespace dllaunch {
namespace {

TEST(NvmlLibrary, AnswersForEachGpu) {
  const NvmlLibrary library(fake_nvml);
  EXPECT_TRUE(library.found());
  ASSERT_EQ(library.why(), "");
  EXPECT_EQ(*library.count(), 4u);
  const auto device = library.device(3);
  ASSERT_TRUE(device) << device.error().what;
  NvmlPciInfo pci{};
  ASSERT_TRUE(library.pci(*device, pci));
  EXPECT_EQ(nvml_pci_text(pci), "0001:0f:00.0");
  int (*name)(NvmlDevice, char*, unsigned) = nullptr;
  ASSERT_TRUE(library.find("nvmlDeviceGetName", name));
  EXPECT_EQ(nvml_text(name, *device), "Fake GPU");
  EXPECT_EQ(nvml_text(nullptr, *device), "");
}

TEST(NvmlLibrary, FindsAGpuByItsAddress) {
  const NvmlLibrary library(fake_nvml);
  EXPECT_EQ(*library.device_at("0000:07:00.0"), *library.device(0));
  const auto none = library.device_at("0000:08:00.0");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().what,
            "GPU 0000:08:00.0: Driver Not Loaded");  // its only error text
}

TEST(NvmlLibrary, SaysWhyItCannotBeAsked) {
  const NvmlLibrary absent("libno-such-nvml.so");
  EXPECT_FALSE(absent.found());
  EXPECT_EQ(absent.why(), "libno-such-nvml.so is not on this machine");
  const FakeGpus no_driver("no-driver");
  const NvmlLibrary without(fake_nvml);
  EXPECT_TRUE(without.found());
  EXPECT_EQ(without.why(), "nvmlInit: Driver Not Loaded");
  const NvmlLibrary other(fake_rocm_smi);
  EXPECT_TRUE(other.why().ends_with("has no nvmlInit_v2")) << other.why();
}

TEST(NvmlLibrary, NamesAGpuThatIsLost) {
  const FakeGpus lost("lost");
  const NvmlLibrary library(fake_nvml);
  EXPECT_TRUE(library.device(0));
  const auto gone = library.device(1);
  ASSERT_FALSE(gone);
  EXPECT_TRUE(gone.error().what.starts_with("GPU 1: ")) << gone.error().what;
}

}  // namespace
}  // namespace dllaunch
