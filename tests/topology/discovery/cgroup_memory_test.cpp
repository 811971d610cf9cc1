#include "topology/discovery/cgroup_memory.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

constexpr std::int64_t mib = 1024 * 1024;

TEST(CgroupMemory, ReadsLimits) {
  EXPECT_EQ(limit_bytes("4096\n"), 4096);
  EXPECT_EQ(limit_bytes("max\n"), std::nullopt);
  EXPECT_EQ(limit_bytes(""), std::nullopt);
  EXPECT_EQ(limit_bytes("-1"), std::nullopt);
  EXPECT_EQ(limit_bytes("99999999999999999999"), std::nullopt);
}

TEST(CgroupMemory, TheTightestOfAllAncestorsCounts) {
  const TemporaryFolder root;
  const auto file = [&](const std::string& name, const std::string& text) {
    const std::filesystem::path path = root.path() + "/" + name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  };
  EXPECT_FALSE(cgroup_memory("7", root.path()));
  file("proc/7/cgroup", "0::/job/step\n");
  file("sys/fs/cgroup/job/memory.max", "209715200\n");
  file("sys/fs/cgroup/job/memory.current", "104857600\n");
  file("sys/fs/cgroup/job/memory.stat", "inactive_file 31457280\nanon 1\nactive_file 10485760\n");
  file("sys/fs/cgroup/job/step/memory.max", "max\n");
  file("sys/fs/cgroup/job/step/memory.current", "1\n");
  const auto job = cgroup_memory("7", root.path());
  ASSERT_TRUE(job);
  EXPECT_EQ(job->limit_bytes, 200 * mib);
  EXPECT_EQ(job->used_bytes, 60 * mib) << "without 30 + 10 of cache";

  file("proc/7/cgroup", "5:memory:/old\n0::/job\n");
  file("sys/fs/cgroup/memory/old/memory.limit_in_bytes", "10485760\n");
  file("sys/fs/cgroup/memory/old/memory.usage_in_bytes", "20971520\n");
  file("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  file("sys/fs/cgroup/memory/memory.usage_in_bytes", "9223372036854771711\n");
  const auto old = cgroup_memory("7", root.path());
  ASSERT_TRUE(old);
  EXPECT_EQ(old->limit_bytes, 10 * mib);
  EXPECT_EQ(old->used_bytes, 20 * mib);
}

}  // namespace
}  // namespace dllaunch
