#include "launcher/daemon/client/paths.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "tests/support/fake_system.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

mode_t mode_of(const std::string& path) {
  struct stat info {};
  stat(path.c_str(), &info);
  return info.st_mode & 0777;
}

TEST(DaemonPathsTest, LiesBesideTheIndexOfRuns) {
  FakeSystem system;
  EXPECT_FALSE(daemon_paths(system));
  system.variables["HOME"] = "/home/me";
  EXPECT_EQ(daemon_paths(system)->folder, "/home/me/.local/state/dllaunch/daemon");
  system.variables["XDG_STATE_HOME"] = "/state";
  EXPECT_EQ(daemon_paths(system)->folder, "/state/dllaunch/daemon");
  // What goes with the last log-out is no place for what survives it.
  system.variables["XDG_RUNTIME_DIR"] = "/run/user/7";
  EXPECT_EQ(daemon_paths(system)->socket(), "/state/dllaunch/daemon/socket");
}

TEST(DaemonPathsTest, IsPrivate) {
  const TemporaryFolder folder;
  const auto paths = folder.path() + "/a/b/daemon";
  ASSERT_TRUE(make_private(paths));
  EXPECT_EQ(mode_of(paths), 0700u);
  fs::permissions(paths, fs::perms::all);
  ASSERT_TRUE(make_private(paths));
  EXPECT_EQ(mode_of(paths), 0700u);
}

TEST(DaemonPathsTest, IsNeitherALinkNorAnotherUsers) {
  const TemporaryFolder folder;
  fs::create_directory(folder.path() + "/target");
  fs::create_symlink(folder.path() + "/target", folder.path() + "/link");
  EXPECT_FALSE(make_private(folder.path() + "/link"));
  if (geteuid() != 0) GTEST_SKIP() << "unavailable: another user, to give a folder to";
  fs::create_directory(folder.path() + "/theirs");
  ASSERT_EQ(chown((folder.path() + "/theirs").c_str(), 65534, 65534), 0);
  const auto made = make_private(folder.path() + "/theirs");
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().what.find("is not a folder of yours"), std::string::npos);
}

}  // namespace
}  // namespace dllaunch
