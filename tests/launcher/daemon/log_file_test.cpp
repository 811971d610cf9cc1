#include "launcher/daemon/log_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

/// Standard output and error, put back at the end.
class LogFileTest : public testing::Test {
 protected:
  LogFileTest() : out_(dup(1)), err_(dup(2)) {}
  ~LogFileTest() override { restore(); }
  void restore() {
    if (out_ < 0) return;
    fflush(nullptr);
    dup2(out_, 1);
    dup2(err_, 2);
    close(out_);
    close(err_);
    out_ = -1;
  }
  void write_to(const std::string& path) {
    const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    fflush(nullptr);
    dup2(fd, 1);
    dup2(fd, 2);
    close(fd);
  }
  std::string path() const { return folder_.path() + "/log"; }

  TemporaryFolder folder_;
  int out_;
  int err_;
};

TEST_F(LogFileTest, IsTurnedOverWhenItIsFull) {
  write_to(path());
  dprintf(2, "%s", std::string(100, 'a').c_str());
  const bool early = turn_over(path(), 100);
  dprintf(2, "b");
  const bool full = turn_over(path(), 100);
  dprintf(2, "new");
  restore();
  EXPECT_FALSE(early);
  EXPECT_TRUE(full);
  EXPECT_EQ(fs::file_size(path()), 3u);
  EXPECT_EQ(fs::file_size(path() + ".1"), 101u);
}

TEST_F(LogFileTest, AnotherFileIsLeftAlone) {
  write_to(folder_.path() + "/other");
  dprintf(2, "%s", std::string(1000, 'a').c_str());
  const bool turned = turn_over(path(), 100);
  restore();
  EXPECT_FALSE(turned);
}

}  // namespace
}  // namespace dllaunch
