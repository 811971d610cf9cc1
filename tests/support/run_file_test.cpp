#include "support/run_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;
using fs::perms;

constexpr auto ours = perms::owner_read | perms::owner_write;
constexpr int append = O_WRONLY | O_CREAT | O_APPEND;

class RunFile : public testing::Test {
 protected:
  RunFile() : umask_(umask(077)) {}
  ~RunFile() override { umask(umask_); }

  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }
  perms mode_after_opening(const std::string& name, int flags, mode_t mode = 0600) const {
    const int file = open_run_file(folder_.path(), path(name), flags, mode);
    if (file >= 0) close(file);
    return file < 0 ? perms::unknown : fs::status(path(name)).permissions();
  }
  void share() const { std::ofstream(path(share_marker)).flush(); }

  TemporaryFolder folder_;

 private:
  mode_t umask_;
};

TEST_F(RunFile, IsItsUsersAlone) {
  EXPECT_FALSE(is_shared(folder_.path()));
  EXPECT_EQ(mode_after_opening("a", append), ours);
  EXPECT_EQ(mode_after_opening("b", append, 0644), ours) << "the umask counts";
}

TEST_F(RunFile, InASharedRunIsReadByTheGroup) {
  mode_after_opening("before", append);
  share();
  EXPECT_TRUE(is_shared(folder_.path()));
  EXPECT_EQ(mode_after_opening("a", append), ours | perms::group_read);
  EXPECT_EQ(mode_after_opening("before", append), ours | perms::group_read);
  EXPECT_EQ(mode_after_opening("before", O_RDONLY), ours | perms::group_read);
}

TEST_F(RunFile, ALinkIsNotFollowed) {
  share();
  std::ofstream(path("other")) << "mine";
  fs::permissions(path("other"), ours);
  fs::create_symlink("other", path("link"));
  EXPECT_EQ(mode_after_opening("link", append), perms::unknown);
  EXPECT_EQ(fs::status(path("other")).permissions(), ours);
}

TEST_F(RunFile, APipeIsNotWaitedFor) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(mode_after_opening("pipe", append), perms::unknown);
  EXPECT_EQ(mode_after_opening("pipe", O_RDWR), perms::unknown);
  EXPECT_EQ(errno, EINVAL);
}

TEST(TemporaryBeside, IsAnotherNameEachTimeInTheSameFolder) {
  const fs::path file = "/a/b/plan.json";
  const auto one = temporary_beside(file);
  EXPECT_EQ(one.parent_path(), "/a/b");
  EXPECT_TRUE(one.filename().string().starts_with(".plan.json.")) << one;
  EXPECT_EQ(one.extension(), ".tmp");
  EXPECT_NE(one, temporary_beside(file));
}

TEST(StepNames, SortByStep) {
  EXPECT_TRUE(is_later_step("step-00000010", "step-00000009"));
  EXPECT_TRUE(is_later_step("step-100000000", "step-99999999"));
  EXPECT_FALSE(is_later_step("step-99999999", "step-100000000"));
  EXPECT_FALSE(is_later_step("step-00000010", "step-00000010"));
}

}  // namespace
}  // namespace dllaunch
