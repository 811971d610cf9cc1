// A run directory is taken, and power is lost at every moment of it.

#include <gtest/gtest.h>

#include <cerrno>
#include <fstream>
#include <iostream>
#include <iterator>

#include "runtime/rank/run_ownership.hpp"
#include "tests/support/crash_states.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/trainer/training/run_program.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

/// The token that the next incarnation gets in a state left by a crash; 0: none.
std::int64_t taken_in(const FileTree& tree) {
  const TemporaryFolder folder;
  write_tree(tree, folder.path());
  const auto ownership = RunOwnership::take(folder.path() + "/run", {.host = "n2"});
  return ownership ? ownership->fencing_token() : 0;
}

TEST(LeaseDurability, NoGenerationIsTakenTwiceAfterAPowerLoss) {
  if (DLLAUNCH_SANITIZED) GTEST_SKIP() << "a sanitizer's library must be the first preloaded one";
  // Many small files: in memory if possible, away from a busy disk.
  if (access("/dev/shm", W_OK | X_OK) == 0) setenv("TMPDIR", "/dev/shm", 1);
  const TemporaryFolder scratch;
  const std::string folder = fs::canonical(scratch.path()) / "recorded";
  fs::create_directories(folder + "/run");
  const auto ended = run_program(
      {"env", "LD_PRELOAD=" + recorder_in(scratch.path()), "DLLAUNCH_RECORD_FOLDER=" + folder,
       "DLLAUNCH_RECORD_LOG=" + scratch.path() + "/log", DLLAUNCH_OWNERSHIP_TAKES, folder});
  ASSERT_EQ(ended.exit_code, 0) << ended.output;
  std::ifstream in(scratch.path() + "/log", std::ios::binary);
  const std::string log(std::istreambuf_iterator<char>(in), {});
  auto calls = parse_recorded_calls(log);
  ASSERT_GT(calls.size(), 50u);
  calls.insert(calls.begin(), {{.kind = "mkdir", .path = "run"}, {.kind = "sync", .path = ""}});

  std::map<FileTree, std::int64_t> known;
  const auto judge = [&](const FileTree& tree, std::size_t made) {
    if (made < 2 || testing::Test::HasFailure()) return;  // the run's folder exists
    std::int64_t taken = 0;
    for (std::size_t i = 0; i < made; ++i) {
      if (calls[i].kind == "note") taken = std::stoll(calls[i].other);
    }
    const auto [found, is_new] = known.try_emplace(tree);
    if (is_new) found->second = taken_in(tree);
    EXPECT_GT(found->second, taken)
        << "after call " << made << ", " << calls[made - 1].kind << " " << calls[made - 1].path;
  };
  const auto replayed = replay_crashes(calls, 256, judge);
  EXPECT_EQ(replayed.errors, std::vector<std::string>());
  EXPECT_EQ(replayed.end, read_tree(folder)) << "a call was not recorded";
  std::cout << replayed.points << " moments, " << replayed.states << " states, " << known.size()
            << " different ones judged; at " << replayed.sampled_points
            << " moments a fixed seed chose 256 of more\n";
}

/// A fencing token that may not be on disk is not owned.
TEST(LeaseDurability, OneWhoseFolderCannotBeSyncedIsNotTaken) {
  if (DLLAUNCH_SANITIZED) GTEST_SKIP() << "a sanitizer's library must be the first preloaded one";
  for (const char* folder : {"/run", "/.lease"}) {
    const TemporaryFolder scratch;
    fs::create_directories(scratch.path() + "/recorded/run");
    const auto preloaded = saboteur_in(scratch.path()) + ":" + recorder_in(scratch.path());
    const auto ended = run_program(
        {"env", "LD_PRELOAD=" + preloaded,
         std::string("DLLAUNCH_FAIL=fsync ") + folder + " " + std::to_string(EIO) + " 1 0",
         DLLAUNCH_OWNERSHIP_TAKES, scratch.path() + "/recorded"});
    EXPECT_EQ(ended.exit_code, 1) << folder << ended.output;
    const auto left = run_owner(scratch.path() + "/recorded/run");
    ASSERT_TRUE(left);
    EXPECT_FALSE(*left) << folder;
  }
}

}  // namespace
}  // namespace dllaunch
