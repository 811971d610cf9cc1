#include "launcher/provenance/versions.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/support/fake_system.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

TEST(Versions, OfTheDriverAreInProc) {
  EXPECT_EQ(
      nvidia_driver_in("NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar 5\n"
                       "GCC version:  gcc version 12.2.0\n"),
      "550.54.15");
  EXPECT_EQ(nvidia_driver_in("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  560.35.03  "
                             "Release Build\n"),
            "560.35.03");
  EXPECT_EQ(nvidia_driver_in("nothing"), "");
}

TEST(Versions, OfALibraryAreInItsFilesName) {
  EXPECT_EQ(version_of_file("/usr/lib/libnccl.so.2.21.5", "libnccl.so"), "2.21.5");
  EXPECT_EQ(version_of_file("/usr/lib/libnccl.so", "libnccl.so"), "");
  EXPECT_EQ(version_of_file("/usr/lib/libnccl.so.bak", "libnccl.so"), "");
  EXPECT_EQ(version_of_file("/usr/lib/other.so.1", "libnccl.so"), "");
}

TEST(Versions, AreThoseThatTheLoaderWouldTake) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() + "/libnccl.so.2.99.1") << "";
  std::filesystem::create_symlink("libnccl.so.2.99.1", folder.path() + "/libnccl.so.2");
  FakeSystem system;
  system.variables["LD_LIBRARY_PATH"] = "/nowhere::" + folder.path();
  system.files["/proc/driver/nvidia/version"] =
      "NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue\n";
  system.files["/sys/module/amdgpu/version"] = "6.7.0\n";
  system.answers["mpirun --version"] = {0, "mpirun (Open MPI) 4.1.4\n", ""};
  const auto versions = read_versions(system);
  EXPECT_EQ(versions.at("NCCL"), "2.99.1");
  EXPECT_EQ(versions.at("NVIDIA driver"), "550.54.15");
  EXPECT_EQ(versions.at("AMD driver"), "6.7.0");
  EXPECT_EQ(versions.at("mpirun"), "4.1.4");
  EXPECT_FALSE(read_versions(*std::make_unique<FakeSystem>()).contains("mpirun"));
}

}  // namespace
}  // namespace dllaunch
