#include "launcher/run/run_dir.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/core.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "launcher/os/atomic_file.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

TEST(RunDir, NamesAreSafeAndDoNotMeet) {
  const std::string path = new_run_path("a b/../$(x)é");
  EXPECT_THAT(path,
              testing::MatchesRegex(".*/runs/a_b_\\.\\.___x___+-[0-9]{8}-[0-9]{6}-[a-z0-9]{4}"));
  EXPECT_NE(new_run_path("x"), new_run_path("x"));
  EXPECT_NE(fs::path(new_run_path(".hidden")).filename().string()[0], '.');
}

TEST(RunDir, IsMadeWithItsParents) {
  const TemporaryFolder folder;
  const auto run = make_run_dir(folder.path() + "/a/b/");
  ASSERT_TRUE(run) << run.error().what;
  EXPECT_EQ(run->path, folder.path() + "/a/b");
  EXPECT_FALSE(run->resumed);
  EXPECT_TRUE(fs::is_directory(run->out()));
  // Nothing of the probe stays: out/ and the id.
  EXPECT_EQ(std::distance(fs::directory_iterator(run->path), {}), 2);
}

TEST(RunDir, AnEarlierRunIsResumed) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() + "/job.yaml") << "name: x\n";
  const auto run = make_run_dir(folder.path());
  ASSERT_TRUE(run);
  EXPECT_TRUE(run->resumed);
}

TEST(RunDir, UnwritablePlacesAreBadRequests) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() + "/file") << "x";
  for (const std::string& path : {folder.path() + "/file/run", folder.path() + "/file",
                                  std::string("/proc/dllaunch-run"), std::string("/sys/x")}) {
    const auto run = make_run_dir(path);
    ASSERT_FALSE(run) << path;
    EXPECT_EQ(run.error().kind, ErrorKind::bad_request);
    EXPECT_NE(run.error().what.find(path), std::string::npos) << run.error().what;
  }
}

TEST(RunDir, OneAtATime) {
  const TemporaryFolder folder;
  const auto run = make_run_dir(folder.path());
  ASSERT_TRUE(run);
  {
    const auto first = RunLock::take(*run);
    ASSERT_TRUE(first);
    const auto second = RunLock::take(*run);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().kind, ErrorKind::bad_request);
  }
  EXPECT_TRUE(RunLock::take(*run));
}

TEST(RunDir, NewestCheckpointIsACompleteOne) {
  const TemporaryFolder folder;
  const RunDir run{.path = folder.path()};
  EXPECT_EQ(newest_checkpoint(run), "");
  for (const char* name : {"step-00000010", "step-00000009", ".step-00000011.tmp", "notes"}) {
    fs::create_directories(run.checkpoints() + "/" + name);
  }
  EXPECT_EQ(newest_checkpoint(run), run.checkpoints() + "/step-00000010");
  for (const char* name : {"step-99999999", "step-100000000"})
    fs::create_directories(run.checkpoints() + "/" + name);
  EXPECT_EQ(newest_checkpoint(run), run.checkpoints() + "/step-100000000");
}

TEST(RunDir, APipeInTheLocksPlaceIsNotWaitedFor) {
  const TemporaryFolder folder;
  ASSERT_EQ(mkfifo((folder.path() + "/.lock").c_str(), 0600), 0);
  EXPECT_FALSE(owner_of({.path = folder.path()}));
}

TEST(RunDir, TheLockNamesItsOwner) {
  const TemporaryFolder folder;
  const RunDir run{.path = folder.path()};
  EXPECT_FALSE(owner_of(run));
  {
    const auto lock = RunLock::take(run);
    ASSERT_TRUE(lock);
    const auto owner = owner_of(run);
    ASSERT_TRUE(owner);
    EXPECT_EQ(owner->pid, getpid());
    EXPECT_FALSE(owner->host.empty());
    EXPECT_EQ(owner->user, geteuid());
    EXPECT_TRUE(holds_lock(run, getpid()));
    EXPECT_FALSE(holds_lock(run, getppid())) << "whatever the file says";
    if (geteuid() == 0) {
      ASSERT_EQ(chown(folder.path().c_str(), 4711, 0), 0);
      EXPECT_FALSE(holds_lock(run, getpid())) << "another user's directory";
    }
  }
  EXPECT_FALSE(owner_of(run));
}

/// A job file with a token in it is copied into the run directory.
TEST(RunDir, IsClosedToOtherUsersWhateverTheUmask) {
  const TemporaryFolder folder;
  const mode_t before = umask(0);
  const auto run = make_run_dir(folder.path() + "/runs/secret");
  ASSERT_TRUE(run);
  ASSERT_TRUE(write_file(run->job_yaml(), "environment: {variables: {WANDB_API_KEY: x}}\n"));
  ASSERT_TRUE(append_lines(run->path + "/supervisor.jsonl", "{}\n"));
  const auto lock = RunLock::take(*run);
  umask(before);
  ASSERT_TRUE(lock);
  constexpr auto others = fs::perms::group_all | fs::perms::others_all;
  EXPECT_EQ(fs::status(run->path).permissions() & others, fs::perms::none);
  int files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(run->path)) {
    EXPECT_EQ(entry.status().permissions() & others, fs::perms::none) << entry.path();
    ++files;
  }
  EXPECT_EQ(files, 5);
}

/// `share: group` opens what the run wrote to the group, whatever the umask, and nothing to others.
TEST(RunDir, ASharedOneIsOpenToItsGroup) {
  const TemporaryFolder folder;
  const auto mode_of = [](const fs::path& path) { return fs::status(path).permissions(); };
  using fs::perms;
  const mode_t before = umask(077);
  const auto run = make_run_dir(folder.path() + "/run");
  ASSERT_TRUE(run) << run.error().what;
  ASSERT_TRUE(share_run_dir(*run, /*share=*/true));
  ASSERT_TRUE(make_run_dir(run->path)) << "looked at by a job that may be refused";
  EXPECT_TRUE(write_file(run->summary(), "{}\n"));
  EXPECT_TRUE(write_file(run->job_yaml(), "name: x\n", Readers::none));
  EXPECT_TRUE(append_lines(run->path + "/supervisor.jsonl", "{}\n"));
  for (const auto& path : {run->path, run->out()})
    EXPECT_EQ(mode_of(path), perms::owner_all | perms::group_read | perms::group_exec) << path;
  constexpr auto ours = perms::owner_read | perms::owner_write;
  EXPECT_EQ(mode_of(run->summary()), ours | perms::group_read);
  EXPECT_EQ(mode_of(run->path + "/supervisor.jsonl"), ours | perms::group_read);
  EXPECT_EQ(mode_of(run->job_yaml()), ours);
  ASSERT_TRUE(share_run_dir(*run, /*share=*/false));
  EXPECT_TRUE(write_file(run->summary(), "{}\n"));
  umask(before);
  EXPECT_EQ(mode_of(run->summary()), ours) << "no longer";
}

TEST(RunDir, HasAnIdThatStays) {
  const TemporaryFolder folder;
  const auto first = make_run_dir(folder.path() + "/a");
  const auto again = make_run_dir(folder.path() + "/a");
  const auto other = make_run_dir(folder.path() + "/b");
  ASSERT_TRUE(first && again && other);
  EXPECT_EQ(first->id.size(), 16u);
  EXPECT_EQ(first->id, again->id);
  EXPECT_EQ(first->id, read_run_id(first->path));
  EXPECT_NE(first->id, other->id);
  std::ofstream(other->path + "/.run-id") << "$(reboot)";
  EXPECT_EQ(read_run_id(other->path), "");
}

TEST(RunDir, OneThatTheUserMadeKeepsItsMode) {
  const TemporaryFolder folder;
  const auto path = folder.path() + "/mine";
  fs::create_directory(path);
  const auto mode = fs::perms::owner_all | fs::perms::group_read | fs::perms::group_exec;
  fs::permissions(path, mode);
  ASSERT_TRUE(make_run_dir(path));
  EXPECT_EQ(fs::status(path).permissions(), mode);
}

/// A link in the place of a file of ours: what it names is another's, or another file of the
/// user's.
TEST(RunDir, ALinkInTheWayIsNotFollowed) {
  const TemporaryFolder folder;
  const auto run = make_run_dir(folder.path() + "/run");
  ASSERT_TRUE(run);
  const auto thesis = folder.path() + "/thesis";
  std::ofstream(thesis) << "years of work\n";
  for (const char* name : {".lock", "supervisor.jsonl"})
    fs::create_symlink(thesis, run->path + "/" + name);
  fs::create_symlink(thesis, run->plan_json());
  const auto lock = RunLock::take(*run);
  ASSERT_FALSE(lock);
  EXPECT_NE(lock.error().what.find("/.lock: "), std::string::npos);
  EXPECT_FALSE(append_lines(run->path + "/supervisor.jsonl", "{}\n"));
  EXPECT_TRUE(write_file(run->plan_json(), "{}\n"));
  std::ifstream in(thesis);
  std::string line;
  std::getline(in, line);
  EXPECT_EQ(line, "years of work");
}

}  // namespace
}  // namespace dllaunch
