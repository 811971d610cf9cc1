#include "launcher/rank/rendezvous/user_key.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "tests/support/other_process.hpp"
#include "tests/support/other_user.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class UserKey : public testing::Test {
 protected:
  void expect_refused(const std::string& why) const {
    const auto key = user_key(folder());
    ASSERT_FALSE(key) << why;
    EXPECT_EQ(key.error().kind, ErrorKind::bad_request);
    EXPECT_THAT(key.error().what, HasSubstr(why));
    EXPECT_THAT(key.error().hint, HasSubstr("DLLAUNCH_START_TOKEN="));
  }
  std::string folder() const { return temporary_.path() + "/a b/state"; }
  std::string file() const { return folder() + "/rendezvous.key"; }

  const TemporaryFolder temporary_;
};

TEST_F(UserKey, IsMadeOnceAndReadByThisUserAlone) {
  const auto key = user_key(folder());
  ASSERT_TRUE(key) << key.error().what;
  EXPECT_EQ(key->size(), 64u);
  struct stat info {};
  ASSERT_EQ(stat(file().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  EXPECT_EQ(info.st_nlink, 1u);
  EXPECT_EQ(*user_key(folder()), *key);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder()), {}), 1) << "nothing else is left";
}

// All nodes of a user's first job make it at once.
TEST_F(UserKey, IsTheSameForAllThatRaceToMakeIt) {
  for (int round = 0; round < 20; ++round) {
    fs::remove_all(folder());
    std::vector<std::string> keys(12);
    std::vector<std::thread> nodes;
    for (auto& key : keys)
      nodes.emplace_back([&] {
        const auto found = user_key(folder());
        ASSERT_TRUE(found) << found.error().what;
        key = *found;
      });
    for (auto& node : nodes) node.join();
    EXPECT_THAT(keys, testing::Each(keys.front()));
  }
}

TEST_F(UserKey, WhatOthersCanReadOrPutThereIsNoKey) {
  ASSERT_TRUE(user_key(folder()));
  fs::permissions(file(), fs::perms::group_read, fs::perm_options::add);
  expect_refused("can be read or written by others");
  fs::remove(file());
  std::ofstream(file()) << "short";
  fs::permissions(file(), fs::perms::owner_all);
  expect_refused("is not a key");
  fs::remove(file());
  fs::create_directory(file());
  expect_refused("is not a key");
  fs::remove(file());
  mkfifo(file().c_str(), 0600);
  expect_refused("is not a key");
  fs::remove(file());
  std::ofstream(folder() + "/other") << std::string(64, '0');
  fs::create_symlink(folder() + "/other", file());
  expect_refused("cannot read");
}

TEST_F(UserKey, AnotherUsersIsNotTaken) {
  if (!can_be_others()) GTEST_SKIP() << "needs root";
  ASSERT_TRUE(user_key(folder()));
  ASSERT_EQ(chown(file().c_str(), other_user, other_user), 0);
  expect_refused("belongs to another user");
}

TEST_F(UserKey, WithoutAPlaceForItTheRemedyIsSaid) {
  const auto none = user_key("");
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().what, HasSubstr("HOME is not set"));
  EXPECT_THAT(none.error().hint, HasSubstr("export DLLAUNCH_START_TOKEN="));
  chmod(temporary_.path().c_str(), 0755);
  if (!can_be_others()) chmod(temporary_.path().c_str(), 0500);
  const OtherUser other;
  expect_refused("cannot make");
}

}  // namespace
}  // namespace dllaunch
