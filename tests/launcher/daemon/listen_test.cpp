#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "launcher/daemon/http_server.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

TEST(DaemonListen, TakesThePlaceOfWhatADeadDaemonLeft) {
  const TemporaryFolder folder;
  const auto path = folder.path() + "/socket";
  for (int i = 0; i < 2; ++i) {
    const auto fd = listen_at(path);
    ASSERT_TRUE(fd) << fd.error().what;
    struct stat info {};
    ASSERT_EQ(stat(path.c_str(), &info), 0);
    EXPECT_TRUE(S_ISSOCK(info.st_mode));
    EXPECT_EQ(info.st_mode & 0777, 0600u);
    close(*fd);
  }
  const auto none = listen_at(folder.path() + "/none/socket");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::unavailable);
}

TEST(DaemonListen, OnAPortOfThisMachineOnly) {
  const auto any = listen_on_loopback(0);
  ASSERT_TRUE(any);
  EXPECT_GT(any->second, 0);
  const auto taken = listen_on_loopback(any->second);
  ASSERT_FALSE(taken);
  EXPECT_NE(taken.error().what.find("127.0.0.1:"), std::string::npos);
  close(any->first);
}

}  // namespace
}  // namespace dllaunch
