#include "trainer/tuning/memory_budget.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <limits>
#include <memory>
#include <random>

#include "tests/support/emulator.hpp"
#include "tests/support/sanitizer.hpp"
#include "tests/trainer/scratch_folder.hpp"
#include "topology/discovery/cgroup_memory.hpp"

namespace dllaunch {
namespace {

constexpr std::int64_t mib = 1024 * 1024;

TEST(MemoryBudget, ReadsMeminfo) {
  const std::string text = "MemTotal:       24689764 kB\nMemAvailable:    1024 kB\n";
  EXPECT_EQ(meminfo_bytes(text, "MemAvailable"), mib);
  EXPECT_EQ(meminfo_bytes(text, "MemAvail"), std::nullopt);
  EXPECT_EQ(meminfo_bytes("MemAvailable: many kB", "MemAvailable"), std::nullopt);
  EXPECT_EQ(meminfo_bytes("MemAvailable: 9223372036854775807 kB", "MemAvailable"), std::nullopt);
}

TEST(MemoryBudget, UsesTheTightestLimitOfAllAncestors) {
  const ScratchFolder root;
  write_text(root / "proc/meminfo", "MemAvailable: 1048576 kB\n");
  EXPECT_EQ(node_memory_left(root.path().string()), 1024 * mib);
  write_text(root / "proc/self/cgroup", "0::/job/step\n");
  write_text(root / "sys/fs/cgroup/job/memory.max", "209715200\n");      // 200 MiB
  write_text(root / "sys/fs/cgroup/job/memory.current", "104857600\n");  // 100
  write_text(root / "sys/fs/cgroup/job/memory.stat",
             "anon 1\ninactive_file 31457280\nactive_file 10485760\n");  // 30 + 10
  write_text(root / "sys/fs/cgroup/job/step/memory.max", "max\n");
  write_text(root / "sys/fs/cgroup/job/step/memory.current", "1\n");
  EXPECT_EQ(node_memory_left(root.path().string()), 140 * mib);
  write_text(root / "proc/self/cgroup", "5:memory:/old\n");
  write_text(root / "sys/fs/cgroup/memory/old/memory.limit_in_bytes", "10485760\n");
  write_text(root / "sys/fs/cgroup/memory/old/memory.usage_in_bytes", "20971520\n");
  EXPECT_EQ(node_memory_left(root.path().string()), 0);
}

TEST(MemoryBudget, IsKnownOnThisMachine) {
  EXPECT_GT(node_memory_left(), 10 * mib);
  EXPECT_LT(node_memory_left(), std::numeric_limits<std::int64_t>::max());
  if (under_thread_sanitizer()) GTEST_SKIP() << "a sanitizer maps memory itself";
  const std::int64_t before = resident_bytes();
  // Not from the heap, which may have as much left of tests before.
  constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE;
  void* memory = mmap(nullptr, 64 * mib, PROT_READ | PROT_WRITE, flags, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  EXPECT_NEAR(static_cast<double>(resident_bytes() - before), 64.0 * mib, 4.0 * mib);
  munmap(memory, 64 * mib);
}

TEST(MemoryBudget, RanksHaveEqualShares) {
  const auto alone = static_cast<double>(rank_memory_left(1));
  EXPECT_NEAR(alone, 0.9 * static_cast<double>(node_memory_left()), 0.2 * alone);
  EXPECT_NEAR(static_cast<double>(rank_memory_left(4)), alone / 4, 0.1 * alone);
}

TEST(MemoryBudget, AnOwnLimitCounts) {
  if (under_an_emulator()) GTEST_SKIP() << "qemu-user keeps no limit of memory";
  const pid_t child = fork();
  if (child == 0) {
    const rlimit limit{1'000'000'000'000, 1'000'000'000'000};  // 0 if a sanitizer maps more
    if (own_memory_left() != std::numeric_limits<std::int64_t>::max()) _exit(2);
    if (setrlimit(RLIMIT_DATA, &limit) != 0) _exit(3);
    _exit(own_memory_left() < 1'000'000'000'000 ? 0 : 4);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(MemoryBudget, SurvivesAnyText) {
  std::mt19937 random(5);
  const std::string letters = "0123456789:/,. \nmemorykBMax-";
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    for (std::size_t size = random() % 60; text.size() < size;) {
      text += letters[random() % letters.size()];
    }
    const auto bytes = meminfo_bytes("MemAvailable:" + text, "MemAvailable");
    EXPECT_TRUE(!bytes || *bytes >= 0) << text;
    const auto limit = limit_bytes(text);
    EXPECT_TRUE(!limit || *limit >= 0) << text;
  }
}

}  // namespace
}  // namespace dllaunch
