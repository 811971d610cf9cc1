#include "launcher/rank/rendezvous/rendezvous_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "support/network/proof.hpp"
#include "tests/support/other_process.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class RendezvousFile : public testing::Test {
 protected:
  std::string run() const { return temporary_.path(); }
  std::string folder() const { return run() + "/.rendezvous"; }
  std::string file() const { return folder() + "/start"; }

  void expect_refused(const std::string& why) const {
    const auto found = published(run(), "start");
    ASSERT_FALSE(found) << why;
    EXPECT_EQ(found.error().kind, ErrorKind::bad_request);
    EXPECT_THAT(found.error().what, HasSubstr(why));
  }

  const TemporaryFolder temporary_;
  const RendezvousPoint point_{
      .address = "n1", .port = 1, .server_port = 2, .secret = new_secret()};
};

TEST_F(RendezvousFile, ComesBackAndIsReadByThisUserAlone) {
  auto found = published(run(), "start");
  ASSERT_TRUE(found);
  EXPECT_FALSE(*found) << "not there yet";
  ASSERT_TRUE(publish(run(), "start", point_));
  found = published(run(), "start");
  ASSERT_TRUE(found && *found);
  EXPECT_EQ((*found)->server_port, 2);
  EXPECT_EQ((*found)->secret, point_.secret);
  struct stat info {};
  ASSERT_EQ(stat(file().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  ASSERT_EQ(stat(folder().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder()), {}), 1) << "nothing else is left";
}

TEST_F(RendezvousFile, AFolderOfAnotherUserIsRefused) {
  if (!can_be_others()) GTEST_SKIP() << "needs root";
  ASSERT_TRUE(publish(run(), "start", point_));
  ASSERT_EQ(chown(file().c_str(), other_user, other_user), 0);
  expect_refused("start belongs to user 65533, not to you");
  ASSERT_EQ(chown(folder().c_str(), other_user, other_user), 0);
  expect_refused(".rendezvous belongs to user 65533, not to you");
  const auto written = publish(run(), "start", point_);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().kind, ErrorKind::bad_request);
}

TEST_F(RendezvousFile, WhatOthersCanChangeIsRefused) {
  ASSERT_TRUE(publish(run(), "start", point_));
  fs::permissions(file(), fs::perms::group_write, fs::perm_options::add);
  expect_refused("start can be written by others");
  fs::permissions(folder(), fs::perms::others_write, fs::perm_options::add);
  expect_refused(".rendezvous can be written by others");
  EXPECT_FALSE(publish(run(), "start", point_));
}

TEST_F(RendezvousFile, ASecretThatOthersCanReadIsNone) {
  ASSERT_TRUE(publish(run(), "start", point_));
  fs::permissions(file(), fs::perms::group_read, fs::perm_options::add);
  expect_refused("can be read by others");
  auto without = point_;
  without.secret.clear();
  ASSERT_TRUE(publish(run(), "start", without));
  fs::permissions(file(), fs::perms::group_read, fs::perm_options::add);
  EXPECT_TRUE(published(run(), "start")) << "a token is what counts there";
}

TEST_F(RendezvousFile, LinksAreNotFollowed) {
  ASSERT_TRUE(publish(run(), "start", point_));
  fs::rename(file(), run() + "/elsewhere");
  fs::create_symlink(run() + "/elsewhere", file());
  expect_refused("start is a link");
  fs::rename(folder(), run() + "/other");
  fs::create_symlink(run() + "/other", folder());
  expect_refused(".rendezvous is a link, or not a folder");
  EXPECT_FALSE(publish(run(), "start", point_));
}

}  // namespace
}  // namespace dllaunch
