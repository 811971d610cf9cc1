#include "topology/discovery/cpu_quota.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

TEST(CpuQuota, IsRoundedDown) {
  EXPECT_EQ(cpus_of_cpu_max("200000 100000\n"), 2);
  EXPECT_EQ(cpus_of_cpu_max("299999 100000\n"), 2);
  EXPECT_EQ(cpus_of_cpu_max("50000 100000\n"), 0);
  EXPECT_EQ(cpus_of_cfs("400000\n", "50000\n"), 8);
}

TEST(CpuQuota, IsNoneInTextsThatNameNone) {
  for (const char* text :
       {"max 100000\n", "", "\n", "100000", "100000 ", " 100000", "100000 0\n", "-1 100000\n",
        "100000 -1\n", "1e5 100000\n", "100000  100000\n", "99999999999999999999 100000\n"})
    EXPECT_EQ(cpus_of_cpu_max(text), std::nullopt) << text;
  EXPECT_EQ(cpus_of_cfs("-1\n", "100000\n"), std::nullopt);
  EXPECT_EQ(cpus_of_cfs("100000\n", ""), std::nullopt);
}

class OwnCpuQuota : public testing::Test {
 protected:
  void write(const std::string& file, const std::string& text) const {
    const std::filesystem::path path = root.path() + file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  CpuQuota quota(std::int64_t cpus, const std::string& folder) const {
    struct stat about = {};
    EXPECT_EQ(::stat((root.path() + "/sys/fs/cgroup" + folder).c_str(), &about), 0);
    return {.whole_cpus = cpus, .group = static_cast<std::int64_t>(about.st_ino)};
  }

  TemporaryFolder root;
};

TEST_F(OwnCpuQuota, IsTheSmallestOfAllGroupsAbove) {
  EXPECT_EQ(own_cpu_quota(root.path()), std::nullopt);
  write("/proc/self/cgroup", "0::/job/step/task\n");
  EXPECT_EQ(own_cpu_quota(root.path()), std::nullopt);
  write("/sys/fs/cgroup/job/step/task/cpu.max", "max 100000\n");
  write("/sys/fs/cgroup/job/step/cpu.max", "300000 100000\n");
  EXPECT_EQ(own_cpu_quota(root.path()), quota(3, "/job/step"));
  write("/sys/fs/cgroup/job/cpu.max", "600000 200000\n");
  EXPECT_EQ(own_cpu_quota(root.path()), quota(3, "/job"));
  write("/sys/fs/cgroup/cpu.max", "100000 100000\n");
  EXPECT_EQ(own_cpu_quota(root.path()), quota(1, ""));
}

TEST_F(OwnCpuQuota, IsReadFromVersionOneToo) {
  write("/proc/self/cgroup", "4:cpu,cpuacct:/job\n3:cpuset:/other\n0::/\n");
  write("/sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "250000\n");
  EXPECT_EQ(own_cpu_quota(root.path()), std::nullopt);
  write("/sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(own_cpu_quota(root.path()), quota(2, "/cpu/job"));
}

/// A container sees its group as the root of the mount, but may be told its path on the node.
TEST_F(OwnCpuQuota, IsReadWhereThePathIsNotBelowTheMount) {
  write("/proc/self/cgroup", "0::/docker/0123\n");
  write("/sys/fs/cgroup/cpu.max", "150000 100000\n");
  EXPECT_EQ(own_cpu_quota(root.path()), quota(1, ""));
}

}  // namespace
}  // namespace dllaunch
