#include "launcher/daemon/folder_probe.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <memory>
#include <thread>

#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

/// Two file systems by the first letter of a path; either may be unavailable. Threads of a probe
/// outlive it, and this.
struct Disks {
  std::mutex mutex;
  std::condition_variable back;
  char away = 0;
  int looks = 0;

  std::optional<dev_t> look(const std::string& path) {
    std::unique_lock lock(mutex);
    ++looks;
    back.wait(lock, [&] { return path[0] != away; });
    return static_cast<dev_t>(path[0]);
  }
  void take_away(char letter) {
    const std::lock_guard guard(mutex);
    away = letter;
    back.notify_all();
  }
  int looked() {
    const std::lock_guard guard(mutex);
    return looks;
  }
};

class FolderProbeTest : public testing::Test {
 protected:
  /// What does not hang answers within it however busy the machine is.
  static constexpr auto patience = 3s;
  ~FolderProbeTest() override { disks_->take_away(0); }
  static bool answers_at_once(FolderProbe& probe, const std::string& folder) {
    const auto begin = Clock::now();
    const bool answer = probe.answers(folder);
    EXPECT_LT(Clock::now() - begin, patience);
    return answer;
  }
  std::shared_ptr<Disks> disks_ = std::make_shared<Disks>();
  FolderProbe probe_{[disks = disks_](const std::string& path) { return disks->look(path); },
                     patience};
};

TEST_F(FolderProbeTest, WhatHangsIsWaitedForOnceAndOthersGoOn) {
  for (const char* path : {"a1", "a2", "b1"}) EXPECT_TRUE(probe_.answers(path));
  std::this_thread::sleep_for(1100ms);  // what answered just now is not asked again
  disks_->take_away('a');
  const auto begin = Clock::now();
  EXPECT_FALSE(probe_.answers("a1"));
  EXPECT_GE(Clock::now() - begin, patience);
  EXPECT_FALSE(answers_at_once(probe_, "a1"));
  EXPECT_FALSE(answers_at_once(probe_, "a2")) << "it lies on the same file system";
  EXPECT_TRUE(probe_.answers("b1"));
  EXPECT_TRUE(probe_.answers("b2"));
  disks_->take_away(0);
  for (int i = 0; i < 6000 && !probe_.answers("a1"); ++i) std::this_thread::sleep_for(10ms);
  EXPECT_TRUE(probe_.answers("a1"));
  EXPECT_TRUE(probe_.answers("a2"));
}

TEST_F(FolderProbeTest, ManyFoldersOfOneFileSystemCostOneQuestion) {
  for (int i = 0; i < 200; ++i) EXPECT_TRUE(probe_.answers("a" + std::to_string(i)));
  const int first = disks_->looked();
  std::this_thread::sleep_for(1100ms);
  for (int i = 0; i < 200; ++i) EXPECT_TRUE(probe_.answers("a" + std::to_string(i)));
  EXPECT_LE(disks_->looked() - first, 3) << "of 200, but for a machine that stood still";
}

/// Folders on unknown file systems: the number of threads is bounded.
TEST_F(FolderProbeTest, TheThreadsThatWaitAreBounded) {
  disks_->take_away('a');
  FolderProbe hasty([disks = disks_](const std::string& path) { return disks->look(path); }, 1ms);
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(hasty.answers("a" + std::to_string(i)));
  std::this_thread::sleep_for(50ms);
  EXPECT_LE(disks_->looked(), 16);
}

TEST(FolderProbe, NoSuchFolderIsAnAnswer) {
  const TemporaryFolder folder;
  FolderProbe probe;
  EXPECT_TRUE(probe.answers(folder.path()));
  EXPECT_TRUE(FolderProbe::device_of(folder.path()));
  EXPECT_TRUE(probe.answers(folder.path() + "/none"));
  EXPECT_FALSE(FolderProbe::device_of(folder.path() + "/none"));
}

}  // namespace
}  // namespace dllaunch
