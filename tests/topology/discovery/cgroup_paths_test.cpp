#include "topology/discovery/cgroup_paths.hpp"

#include <gtest/gtest.h>

#include <random>

namespace dllaunch {
namespace {

TEST(CgroupPaths, OfVersionOneAreByController) {
  const auto paths = parse_proc_cgroup(
      "5:devices:/slurm/uid_0/job_5\n3:cpuset,cpu:/slurm/uid_0/job_5/step_0\n"
      "9:cpu,memory:/slurm/job_7\nnonsense\n0::/\n");
  EXPECT_EQ(paths.cpuset, "/slurm/uid_0/job_5/step_0");
  EXPECT_EQ(paths.cpu, "/slurm/job_7");  // the last line that lists it
  EXPECT_EQ(paths.devices, "/slurm/uid_0/job_5");
  EXPECT_EQ(paths.memory, "/slurm/job_7");
  EXPECT_EQ(paths.unified, "/");
}

TEST(CgroupPaths, OfVersionTwoIsOne) {
  const auto paths = parse_proc_cgroup("0::/system.slice/slurmstepd.scope/job_9:1\n");
  EXPECT_EQ(paths.unified, "/system.slice/slurmstepd.scope/job_9:1");
  EXPECT_EQ(paths.cpuset, "");
  EXPECT_EQ(paths.memory, "");
}

TEST(CgroupPaths, OutsideTheMountAreDropped) {
  EXPECT_EQ(parse_proc_cgroup("0::/../../etc").unified, "");
  EXPECT_EQ(parse_proc_cgroup("0::/a/..").unified, "");
  EXPECT_EQ(parse_proc_cgroup("0::a/b").unified, "");
  EXPECT_EQ(parse_proc_cgroup("4:memory:").memory, "");
  EXPECT_EQ(parse_proc_cgroup("0::/a..b/c").unified, "/a..b/c");
}

TEST(CgroupPaths, StayBelowTheMountForAnyText) {
  std::mt19937 random(5);
  const std::string letters = "0012:,/.\nabc";
  const std::string words[] = {"0::/", "memory", "cpuset", "devices", "/.."};
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    while (text.size() < 10 + random() % 60) {
      if (random() % 4 == 0) {
        text += words[random() % std::size(words)];
      } else {
        text += letters[random() % letters.size()];
      }
    }
    const auto paths = parse_proc_cgroup(text);
    for (const auto& path : {paths.unified, paths.cpu, paths.cpuset, paths.devices, paths.memory}) {
      if (path.empty()) continue;
      EXPECT_EQ(path[0], '/') << text;
      EXPECT_EQ(path.find('\n'), std::string::npos) << text;
      EXPECT_EQ((path + '/').find("/../"), std::string::npos) << text;
    }
  }
}

}  // namespace
}  // namespace dllaunch
