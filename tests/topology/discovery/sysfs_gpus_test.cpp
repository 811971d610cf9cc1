// Writes a small /sys: what the kernel shows of two GPUs, a BMC and a NIC.
#include "topology/discovery/sysfs_gpus.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/support/temporary_folder.hpp"
#include "tests/topology/node/machines.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

struct Device {
  std::string bridge;
  std::string address;
  std::string device_class;
  std::string vendor;
  std::string numa;
  std::string cpus;
};

void add(const fs::path& root, const Device& device) {
  const auto folder = root / "devices" / device.bridge / device.address;
  fs::create_directories(folder);
  std::ofstream(folder / "class") << device.device_class << "\n";
  std::ofstream(folder / "vendor") << device.vendor << "\n";
  std::ofstream(folder / "numa_node") << device.numa << "\n";
  std::ofstream(folder / "local_cpulist") << device.cpus << "\n";
  const auto list = root / "bus/pci/devices";
  fs::create_directories(list);
  fs::create_symlink("../../../devices/" + device.bridge + "/" + device.address,
                     list / device.address);
}

TEST(SysfsGpus, ReadsWhatHwlocDidNotSee) {
  const TemporaryFolder folder;
  const fs::path root = folder.path();
  add(root, {"pci0001:c0/0001:c0:01.1", "0001:c1:00.0", "0x038000", "0x1002", "1", "4-7,12-15"});
  add(root, {"pci0000:00/0000:00:03.0", "0000:c1:00.0", "0x120000", "0x1002", "0", "0-3,8-11"});
  add(root, {"pci0000:00", "0000:02:00.0", "0x030000", "0x1a03", "0", "0-3,8-11"});
  add(root, {"pci0000:00", "0000:03:00.0", "0x020700", "0x15b3", "0", "0-3,8-11"});
  add(root, {"pci0000:00", "0000:04:00.0", "0x030200", "0x10de", "-1", "0-99"});
  const auto gpus = read_sysfs_gpus(root, machine("packages:2 cores:4 threads:2"));
  ASSERT_EQ(gpus.size(), 3u);
  EXPECT_EQ(gpus[0].vendor, "nvidia");
  EXPECT_TRUE(gpus[0].numa.empty()) << "-1 is no NUMA node";
  EXPECT_EQ(gpus[0].cpus, IdSet::range(0, 15)) << "only CPUs that there are";
  EXPECT_EQ(gpus[0].package, -1);
  EXPECT_EQ(gpus[1].pci, "0000:c1:00.0");
  EXPECT_EQ(gpus[1].index, 0);
  EXPECT_EQ(gpus[1].pci_path, "0000:00/0000:00:03.0");
  EXPECT_EQ(gpus[2].pci, "0001:c1:00.0");
  EXPECT_EQ(gpus[2].index, 1);
  EXPECT_EQ(gpus[2].numa, IdSet{1});
  EXPECT_EQ(to_list(gpus[2].cpus), "4-7,12-15");
  EXPECT_EQ(gpus[2].package, 1);
  EXPECT_EQ(gpus[2].pci_path, "0001:c0/0001:c0:01.1");
}

TEST(SysfsGpus, SkipsWhatItCannotRead) {
  const TemporaryFolder folder;
  EXPECT_TRUE(read_sysfs_gpus(folder.path(), machine("cores:2")).empty());
  EXPECT_TRUE(read_sysfs_gpus("/no/such/sys", machine("cores:2")).empty());
  int function = 0;
  for (const char* text : {"", "0x", "030200", "0x0302000000", "0xzz", "-1"})
    add(folder.path(),
        {"pci0000:00", "0000:05:00." + std::to_string(function++), text, "0x10de", "0", "0"});
  EXPECT_TRUE(read_sysfs_gpus(folder.path(), machine("cores:2")).empty());
}

}  // namespace
}  // namespace dllaunch
