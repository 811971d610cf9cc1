#include "launcher/os/atomic_file.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/support/one_owner.hpp"
#include "tests/support/small_disk.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(AtomicFile, ReplacesWholeOrNotAtAll) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/x.json";
  ASSERT_TRUE(write_file(path, "first"));
  ASSERT_TRUE(write_file(path, std::string(100'000, 'y')));
  EXPECT_EQ(text_of(path).size(), 100'000u);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 1);
  // A folder in its place cannot be replaced: it stays, and no temporary file does.
  fs::create_directory(folder.path() + "/taken");
  fs::create_directory(folder.path() + "/taken/inside");
  EXPECT_FALSE(write_file(folder.path() + "/taken", "x"));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 2);
}

/// A new job.yaml beside an old plan.json tells of a run that never was.
TEST(AtomicFile, OfFilesThatBelongTogetherAFullDiskReplacesNone) {
  const TemporaryFolder folder;
  const SmallDisk disk(folder.path());
  if (!disk.made()) GTEST_SKIP() << "no disk can be mounted here: that needs root";
  const auto a = folder.path() + "/a";
  const auto b = folder.path() + "/b";
  ASSERT_TRUE(write_files({{a, "old"}, {b, "old"}}));
  disk.fill(std::size_t{64} << 10);
  const auto refused = write_files({{a, "new"}, {b, std::string(100'000, 'y')}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().what, "cannot write " + b + ": No space left on device");
  EXPECT_EQ(text_of(a) + text_of(b), "oldold");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 3) << "a, b and the filler";
  disk.free();
  EXPECT_TRUE(write_files({{a, "new"}, {b, "new"}}));
  EXPECT_EQ(text_of(a) + text_of(b), "newnew");
}

/// Writes the file a few hundred times in a process with id 1, as two containers or hosts may have
/// it. False: there are no process namespaces here.
bool write_as_process_1(const std::string& path, char letter) {
  const pid_t child = fork();
  if (child == 0) {
    const bool apart = unshare(CLONE_NEWPID) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWPID) == 0;
    const pid_t first = apart ? fork() : -1;
    if (first == 0) {
      bool good = getpid() == 1;
      for (int i = 0; i < 300 && good; ++i)
        good = static_cast<bool>(write_file(path, std::string(100'000, letter)));
      _exit(good ? 0 : 1);
    }
    int status = -1;
    waitpid(first, &status, 0);
    _exit(first < 0 ? 2 : status == 0 ? 0 : 1);
  }
  return child > 0;
}

/// Shared file systems: a process id is known on its own host only.
TEST(AtomicFile, ProcessesOfOneIdOnTwoHostsWriteWholeFiles) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/x.json";
  for (const char letter : {'a', 'b'}) ASSERT_TRUE(write_as_process_1(path, letter));
  int ended = 0;
  while (ended < 2) {
    int status = -1;
    if (waitpid(-1, &status, WNOHANG) > 0) {
      if (WEXITSTATUS(status) == 2) GTEST_SKIP() << "no process namespaces here";
      EXPECT_EQ(status, 0) << "a write failed";
      ++ended;
    }
    const auto text = text_of(path);
    const bool whole = text.empty() || (text.size() == 100'000 &&
                                        text.find_first_not_of(text[0]) == std::string::npos);
    ASSERT_TRUE(whole) << text.size() << " bytes";
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 1);
}

TEST(AtomicFile, AFolderIsClosedAsFarAsItsFileSystemCan) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/components";
  ASSERT_TRUE(make_closed_folder(path));
  EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_all);
  ASSERT_EQ(chown(path.c_str(), 4711, 0), 0);
  EXPECT_FALSE(make_closed_folder(path));
  shown_for_all = {4711, 0755};
  EXPECT_TRUE(make_closed_folder(path)) << "where all files have one owner";
  shown_for_all.reset();
}

TEST(AtomicFile, AppendedLinesAreWholeWhateverStoodThere) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/lines";
  ASSERT_TRUE(append_lines(path, "one\n"));
  std::ofstream(path, std::ios::app) << "torn";
  ASSERT_TRUE(append_lines(path, "two\n"));
  ASSERT_TRUE(append_lines(path, "three\n"));
  std::ifstream file(path);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "one\ntorn\ntwo\nthree\n");
  const auto refused = append_lines("/proc/nowhere/lines", "x\n");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::unavailable);
}

}  // namespace
}  // namespace dllaunch
