#include "launcher/preflight/gpu_state.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "launcher/preflight/check.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

Json stand_in(const char* behaviour) {
  setenv("DLLAUNCH_FAKE_GPUS", behaviour, 1);
  auto states = read_nvml_states(DLLAUNCH_FAKE_NVML_STATE);
  unsetenv("DLLAUNCH_FAKE_GPUS");
  return states;
}

TEST(GpuState, IsWhatNvmlSays) {
  const auto states = stand_in("");
  EXPECT_TRUE(flag_of(states, "found"));
  EXPECT_EQ(text_of(states, "why"), "");
  ASSERT_EQ(states["gpus"].size(), 2u) << states;
  const auto& gpu = states["gpus"][1];
  EXPECT_EQ(text_of(gpu, "pci"), "0000:0f:00.0");
  EXPECT_EQ(text_of(gpu, "name"), "Fake GPU");
  EXPECT_EQ(text_of(gpu, "uuid"), "GPU-2");
  EXPECT_EQ(number_of(gpu, "total_bytes"), 80.0 * (1 << 30));
  EXPECT_EQ(number_of(gpu, "processes"), 0);
  EXPECT_EQ(number_of(gpu, "most_link_width"), 16);
  EXPECT_EQ(number_of(stand_in("full")["gpus"][1], "processes"), 3);
}

TEST(GpuState, OfAnOldDriverLeavesOutWhatItDoesNotTell) {
  const auto states = stand_in("old");
  ASSERT_EQ(states["gpus"].size(), 2u);
  EXPECT_FALSE(states["gpus"][0].contains("used_bytes"));
  EXPECT_FALSE(states["gpus"][0].contains("slowed"));
}

TEST(GpuState, SaysWhyThereIsNone) {
  EXPECT_EQ(text_of(stand_in("no-driver"), "why"), "nvmlInit: Driver Not Loaded");
  const auto one = stand_in("lost");
  EXPECT_EQ(one["gpus"].size(), 1u);
  EXPECT_EQ(text_of(one, "why"), "GPU 1: GPU is lost");
  const auto none = read_nvml_states("libno-such-nvml.so");
  EXPECT_FALSE(flag_of(none, "found"));
  EXPECT_THAT(text_of(none, "why"), HasSubstr("is not on this machine"));
}

void write(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

TEST(GpuState, OfAmdIsWhatTheKernelSays) {
  const TemporaryFolder root;
  EXPECT_FALSE(flag_of(read_amd_states(root.path()), "found"));
  const fs::path drm = root.path() + "/sys/class/drm";
  const fs::path device = root.path() + "/sys/devices/pci0000:c0/0000:c1:00.0";
  write(device / "vendor", "0x1002\n");
  write(device / "mem_info_vram_total", "68702699520\n");
  write(device / "mem_info_vram_used", "10997760\n");
  fs::create_directories(drm / "card1");
  fs::create_directory_symlink(device, drm / "card1/device");
  write(drm / "card0/device/vendor", "0x1a03\n");  // the board's own screen
  write(drm / "card1-DP-1/status", "disconnected\n");
  const auto states = read_amd_states(root.path());
  EXPECT_TRUE(flag_of(states, "found"));
  ASSERT_EQ(states["gpus"].size(), 1u) << states;
  EXPECT_EQ(text_of(states["gpus"][0], "pci"), "0000:c1:00.0");
  EXPECT_EQ(number_of(states["gpus"][0], "used_bytes"), 10997760);
}

TEST(GpuState, CountsDeviceFiles) {
  const TemporaryFolder root;
  EXPECT_EQ(count_nvidia_files(root.path()), 0);
  for (const char* name : {"nvidia0", "nvidia7", "nvidiactl", "nvidia-uvm", "nvidia", "null"})
    write(root.path() + "/dev/" + name, "");
  EXPECT_EQ(count_nvidia_files(root.path()), 2);
}

}  // namespace
}  // namespace dllaunch
