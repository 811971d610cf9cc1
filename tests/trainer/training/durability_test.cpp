// Real saves of checkpoints, with a power failure at every possible moment.

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>

#include "tests/support/crash_states.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/trainer/training/run_program.hpp"
#include "trainer/checkpoints/checkpoint.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

/// What a resume finds after a crash.
struct Found {
  std::uint64_t save = 0;  // 0: no checkpoint
  std::string unsound;     // a damaged directory with a final name, and the damage
};

Found resume_from(const FileTree& tree) {
  const TemporaryFolder folder;
  write_tree(tree, folder.path());
  const fs::path checkpoints = fs::path(folder.path()) / "run" / "checkpoints";
  Found result;
  const auto search = find_newest_checkpoint(checkpoints);
  if (search.found) result.save = search.found->checkpoint.seed;
  if (search.unreadable) result.unsound = search.unreadable->what;
  for (const auto& step : list_checkpoints(checkpoints)) {
    const auto read = read_checkpoint(step);
    if (!read) result.unsound = step.filename().string() + ": " + read.error().what;
  }
  return result;
}

/// Returns the calls of an incarnation that starts after step `begin` with the content of `folder`
/// and ends at the first failing save. `fault` selects the failing call (failing_files.cpp).
std::vector<RecordedCall> record_saves(const std::string& folder, int begin,
                                       const std::string& fault = "") {
  const TemporaryFolder log;
  const std::string file = log.path() + "/log";
  const auto preloaded = saboteur_in(log.path()) + ":" + recorder_in(log.path());
  const auto ended = run_program({"env", "LD_PRELOAD=" + preloaded, "DLLAUNCH_FAIL=" + fault,
                                  "DLLAUNCH_RECORD_FOLDER=" + folder, "DLLAUNCH_RECORD_LOG=" + file,
                                  DLLAUNCH_CHECKPOINT_SAVES, folder, std::to_string(begin)});
  EXPECT_TRUE(ended.exit_code == 0 || (ended.exit_code == 1 && !fault.empty())) << ended.output;
  std::ifstream in(file, std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(in), {});
  return parse_recorded_calls(text);
}

std::string names_of(const FileTree& tree) {
  std::string names;
  for (const auto& [name, content] : tree) {
    names += "  " + name + " " + std::to_string(content.size()) + "\n";
  }
  return names;
}

class Durability : public testing::Test {
 protected:
  /// Uses /dev/shm if it exists: thousands of small files are slow on a busy disk.
  static void SetUpTestSuite() {
    if (access("/dev/shm", W_OK | X_OK) == 0) setenv("TMPDIR", "/dev/shm", 1);
  }

  void SetUp() override {
    if (DLLAUNCH_SANITIZED) GTEST_SKIP() << "a sanitizer's library must be the first preloaded one";
    record_first_life("");
    ASSERT_GT(calls_.size(), 50u);
  }
  std::size_t calls() const { return calls_.size(); }
  void record_first_life(const std::string& fault) {
    // The run's folder is on disk before the first save.
    fs::remove_all(folder_);
    fs::create_directories(folder_ + "/run");
    calls_ = {{.kind = "mkdir", .path = "run"}, {.kind = "sync", .path = ""}};
    const auto saves = record_saves(folder_, 0, fault);
    calls_.insert(calls_.end(), saves.begin(), saves.end());
  }

  /// Checks every state after more than `begin` of the calls.
  void expect_whole_checkpoints(std::size_t begin, std::size_t most = 256) {
    std::map<FileTree, Found> known;
    const auto judge = [&](const FileTree& tree, std::size_t made) {
      if (made <= begin || HasFailure()) return;
      auto [found, is_new] = known.try_emplace(tree);
      if (is_new) found->second = resume_from(tree);
      const auto& last = calls_[made - 1];
      const std::string where = " after call " + std::to_string(made) + ", " + last.kind + " " +
                                last.path + " " + last.other + "\n" + names_of(tree);
      EXPECT_GE(found->second.save, returned(made)) << "a save that had returned is lost" << where;
      EXPECT_EQ(found->second.unsound, "") << "a damaged checkpoint has a final name" << where;
    };
    const auto replayed = replay_crashes(calls_, most, judge);
    EXPECT_EQ(replayed.errors, std::vector<std::string>());
    EXPECT_EQ(replayed.end, read_tree(folder_)) << "a call was not recorded";
    std::cout << replayed.points << " moments, " << replayed.states << " states, " << known.size()
              << " distinct ones checked; at " << replayed.sampled_points
              << " moments a fixed seed chose " << most << " of more\n";
  }

  /// The incarnation that made the calls is killed after the first call that `is_last`, without a
  /// power failure, and another one continues.
  void expect_whole_checkpoints_after_kill(
      const std::function<bool(const RecordedCall&)>& is_last) {
    const auto last = std::ranges::find_if(calls_, is_last);
    ASSERT_NE(last, calls_.end());
    calls_.erase(last + 1, calls_.end());
    const std::size_t killed = calls_.size();
    fs::remove_all(folder_);
    fs::create_directory(folder_);
    write_tree(replay_crashes(calls_, 0, [](const FileTree&, std::size_t) {}).end, folder_);
    const auto saves = record_saves(folder_, 10);
    calls_.insert(calls_.end(), saves.begin(), saves.end());
    expect_whole_checkpoints(killed);
  }

 private:
  /// Returns the last save completed by the first `made` calls.
  std::uint64_t returned(std::size_t made) const {
    std::uint64_t save = 0;
    for (std::size_t i = 0; i < made; ++i) {
      if (calls_[i].kind == "note") save = std::stoull(calls_[i].other);
    }
    return save;
  }

  const TemporaryFolder scratch_;
  const std::string folder_ = fs::canonical(scratch_.path()) / "recorded";
  std::vector<RecordedCall> calls_;
};

TEST_F(Durability, EveryPowerFailureLeavesValidCheckpoints) {
  expect_whole_checkpoints(0);
}

/// After a failed sync nothing is certain: neither of two checkpoints may be removed because of the
/// other.
TEST_F(Durability, AFailedSyncOfTheFolderLosesNothing) {
  const auto undisturbed = calls();
  int fewer = 0;
  for (int number = 1; number <= 16; ++number) {
    const auto at = std::to_string(number);
    record_first_life("fsync /checkpoints " + std::to_string(EIO) + " " + at + " " + at);
    if (calls() < undisturbed) ++fewer;
    expect_whole_checkpoints(0, 32);
    ASSERT_FALSE(HasFailure()) << "sync " << number;
  }
  EXPECT_GT(fewer, 4) << "saves that failed";
}

TEST_F(Durability, AKillBeforeAReplacedOneIsGoneAndAPowerLoss) {
  expect_whole_checkpoints_after_kill(
      [](const RecordedCall& call) { return call.kind == "exchange"; });
}

TEST_F(Durability, AKillBeforeADiscardedOneIsGoneAndAPowerLoss) {
  expect_whole_checkpoints_after_kill([](const RecordedCall& call) {
    return call.kind == "rename" && call.other.find(".tmp-old") != std::string::npos;
  });
}

}  // namespace
}  // namespace dllaunch
