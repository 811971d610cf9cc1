#include "support/held_folder.hpp"

#include <gmock/gmock.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <utility>

#include "tests/support/one_owner.hpp"
#include "tests/support/other_process.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::StartsWith;

TEST(HeldFolder, DetectsAnotherFolderInItsPlace) {
  const TemporaryFolder place;
  const fs::path path = place.path() + "/run";
  const fs::path away = place.path() + "/away";
  fs::create_directory(path);
  const HeldFolder held(path);
  EXPECT_TRUE(held.check());
  fs::rename(path, away);
  auto now = held.check();
  ASSERT_FALSE(now);
  EXPECT_EQ(now.error().kind, ErrorKind::unavailable);
  EXPECT_THAT(now.error().what, HasSubstr("No such file or directory"));
  fs::create_directory(path);
  now = held.check();
  ASSERT_FALSE(now);
  EXPECT_THAT(now.error().what, HasSubstr("its file system is not mounted"));
  fs::remove(path);
  fs::rename(away, path);
  EXPECT_TRUE(held.check());
}

TEST(HeldFolder, IsOkIfItCouldNotBeOpened) {
  const TemporaryFolder place;
  const HeldFolder held(place.path() + "/none");
  EXPECT_TRUE(held.check());
}

/// TOP/project/runs/a, in which others may look.
class OwnFolder : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(run_);
    for (const auto& folder : {top_.path(), project_, project_ + "/runs", run_}) set(folder, 0755);
  }
  static void set(const std::string& folder, unsigned mode) {
    fs::permissions(folder, static_cast<fs::perms>(mode));
  }
  void TearDown() override { shown_for_all.reset(); }
  /// The judgement of a process of that user.
  std::string as_user(uid_t user, gid_t group,
                      std::string (*judge)(const std::string&) = why_replaceable,
                      const std::string& path = "") const {
    int said[2] = {-1, -1};
    if (pipe(said) != 0) return "no pipe";
    const pid_t child = fork();
    if (child == 0) {
      const bool is_user = setgroups(0, nullptr) == 0 && setgid(group) == 0 && setuid(user) == 0;
      const auto why = is_user ? judge(path.empty() ? run_ : path) : "cannot be that user";
      _exit(write(said[1], why.data(), why.size()) < 0 ? 1 : 0);
    }
    close(said[1]);
    std::string text(4096, '\0');
    const auto size = read(said[0], text.data(), text.size());
    close(said[0]);
    waitpid(child, nullptr, 0);
    return text.substr(0, static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  }
  /// A group that is not this user's private one.
  static bool give_to_group(const std::string& folder) {
    return can_be_others() && chown(folder.c_str(), geteuid(), other_user) == 0;
  }

  const TemporaryFolder top_;
  const std::string project_ = top_.path() + "/project";
  const std::string run_ = project_ + "/runs/a";
};

TEST_F(OwnFolder, IsTrustedWhereOnlyItsUserWrites) {
  EXPECT_EQ(why_replaceable(run_), "");
  EXPECT_EQ(why_replaceable(run_ + "/"), "");
  EXPECT_EQ(why_replaceable(project_ + "/runs/nothing here"), "");
}

TEST_F(OwnFolder, CanBeReplacedWhereOthersWriteAboveIt) {
  set(project_, 0777);
  const auto why = project_ + " can be written by others and has no sticky bit";
  EXPECT_EQ(why_replaceable(run_), why);
  EXPECT_EQ(why_replaceable(run_ + "/not/made/yet"), why);
  EXPECT_EQ(why_replaceable(project_), "") << "what is above it counts, not what is in it";
  set(project_, 01777);
  EXPECT_EQ(why_replaceable(run_), "");
}

TEST_F(OwnFolder, CanBeReplacedByAGroupThatWritesAboveIt) {
  if (!give_to_group(project_)) GTEST_SKIP() << "needs root";
  set(project_, 0770);
  EXPECT_THAT(why_replaceable(run_), StartsWith(project_));
  set(project_, 01770);
  EXPECT_EQ(why_replaceable(run_), "");
}

/// As many systems have it: a group for each user, and umask 002.
TEST_F(OwnFolder, ItsUsersPrivateGroupMayWriteAboveIt) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, whose group is root";
  set(project_, 0775);
  EXPECT_EQ(why_replaceable(run_), "");
}

TEST_F(OwnFolder, CanBeReplacedByWhoOwnsAFolderAboveIt) {
  if (!can_be_others()) GTEST_SKIP() << "needs root";
  ASSERT_EQ(chown(project_.c_str(), other_user, other_user), 0);
  for (const unsigned mode : {0755U, 01777U}) {
    set(project_, mode);
    EXPECT_EQ(as_user(61234, 61234), project_ + " belongs to another user, who can rename in it");
    EXPECT_EQ(why_replaceable(run_), "") << "root in a container works in a user's folder";
  }
}

/// A user namespace and a network file system show those whom they do not know as this one.
TEST_F(OwnFolder, BelowAFolderOfAnUnknownOwnerIsTrusted) {
  if (!can_be_others()) GTEST_SKIP() << "needs root";
  ASSERT_EQ(chown(project_.c_str(), 65534, 65534), 0);
  EXPECT_EQ(as_user(61234, 61234), "");
}

TEST_F(OwnFolder, TheGroupOfRootMayWriteAboveIt) {
  if (!can_be_others()) GTEST_SKIP() << "needs root";
  set(project_, 0775);
  EXPECT_EQ(as_user(61234, 61234), "");
}

/// 61234 has no entry, as on a node where no directory of users answers.
TEST_F(OwnFolder, APrivateGroupIsKnownByItsNumberWhereNobodyTellsIt) {
  if (!can_be_others()) GTEST_SKIP() << "needs root";
  set(project_, 0775);
  ASSERT_EQ(chown(project_.c_str(), 61234, 61234), 0);
  EXPECT_EQ(as_user(61234, 61234), "");
  EXPECT_THAT(as_user(61234, 61235), StartsWith(project_)) << "not the user's first group";
  EXPECT_EQ(why_replaceable(run_), "") << "root in a container";
  ASSERT_EQ(chown(project_.c_str(), 61234, 61235), 0);
  EXPECT_THAT(as_user(61234, 61235), StartsWith(project_)) << "a group of several";
  EXPECT_THAT(why_replaceable(run_), StartsWith(project_));
}

/// As on 9p, exFAT or a FUSE mount.
TEST_F(OwnFolder, WhereAllFilesHaveOneOwnerNothingIsTold) {
  if (!can_be_others()) GTEST_SKIP() << "needs root";
  for (const auto& folder : {project_, project_ + "/runs", run_})
    ASSERT_EQ(chown(folder.c_str(), other_user, other_user), 0);
  set(run_, 0777);
  EXPECT_NE(as_user(61234, 61234), "");
  shown_for_all = {other_user, 0755};
  EXPECT_EQ(as_user(61234, 61234), "");
  EXPECT_EQ(as_user(61234, 61234, why_not_trusted), "");
  EXPECT_TRUE(shows_one_owner(run_, other_user));
  EXPECT_FALSE(shows_one_owner(run_, 61235));
  shown_for_all = {61235, 0755};
  EXPECT_NE(as_user(61234, 61234), "") << "root's files are nobody's; others keep their owner";
}

TEST_F(OwnFolder, WhereAllFilesHaveOneModeNothingIsTold) {
  for (const auto& folder : {project_, project_ + "/runs", run_}) set(folder, 0777);
  shown_for_all = {geteuid(), 0777};
  EXPECT_EQ(why_replaceable(run_), "");
  EXPECT_EQ(why_not_trusted(run_), "");
  shown_for_all.reset();
  EXPECT_NE(why_replaceable(run_), "");
}

/// As a site gives one user a folder of root's.
TEST_F(OwnFolder, MayHaveAnAccessListOfNoOthers) {
  const auto give = [this](std::uint16_t tag, std::uint32_t who) {
    struct [[gnu::packed]] {
      std::uint32_t version = 2;
      struct [[gnu::packed]] {
        std::uint16_t tag, rights;
        std::uint32_t who;
      } entries[5];
    } list{.entries = {{1, 7, ~0U}, {2, 7, 0}, {4, 7, ~0U}, {0x10, 7, ~0U}, {0x20, 0, ~0U}}};
    list.entries[1].tag = tag;
    list.entries[1].who = who;
    if (tag == 8) std::swap(list.entries[1], list.entries[2]);
    return setxattr(project_.c_str(), "system.posix_acl_access", &list, sizeof list, 0) == 0;
  };
  if (!can_be_others() || !give(2, 61234)) GTEST_SKIP() << "needs root, and access lists";
  EXPECT_EQ(as_user(61234, 61234), "");
  EXPECT_THAT(as_user(61235, 61235), StartsWith(project_)) << "user 61234 writes there";
  ASSERT_TRUE(give(8, 61234));
  EXPECT_EQ(as_user(61234, 61234), "") << "a private group";
  EXPECT_THAT(as_user(61234, 61235), StartsWith(project_)) << "a group of several";
}

TEST_F(OwnFolder, JudgingMakesNothing) {
  const auto before = fs::last_write_time(project_);
  set(project_, 0777);
  EXPECT_NE(why_replaceable(run_ + "/not made"), "");
  EXPECT_EQ(fs::last_write_time(project_), before);
  EXPECT_TRUE(fs::is_empty(run_));
}

TEST_F(OwnFolder, CannotBeReplacedBelowAFolderThatOthersCannotEnter) {
  set(project_ + "/runs", 0777);
  EXPECT_NE(why_replaceable(run_), "");
  set(project_, 0744);
  EXPECT_EQ(why_replaceable(run_), "");
  set(project_, 0755);
  set(top_.path(), 0700);
  EXPECT_EQ(why_replaceable(run_), "");
}

TEST_F(OwnFolder, IsJudgedWhereALinkLeads) {
  const TemporaryFolder home;
  const auto link = home.path() + "/runs";
  fs::create_directory_symlink(project_ + "/runs", link);
  EXPECT_EQ(why_replaceable(link + "/a"), "");
  set(project_, 0777);
  EXPECT_THAT(why_replaceable(link + "/a"), StartsWith(project_)) << "out of a closed folder";
  set(project_, 0755);
  set(home.path(), 0777);
  EXPECT_THAT(why_replaceable(link + "/a"), StartsWith(home.path()));
  if (!can_be_others()) GTEST_SKIP() << "the rest needs root";
  set(home.path(), 01777);
  EXPECT_EQ(why_replaceable(link + "/a"), "");
  ASSERT_EQ(lchown(link.c_str(), other_user, other_user), 0);
  EXPECT_THAT(as_user(61234, 61234, why_replaceable, link + "/a"),
              HasSubstr("a link of another user's"));
}

TEST_F(OwnFolder, IsNotTrustedIfOthersWriteInIt) {
  for (const unsigned mode : {0777U, 01777U, 0757U}) {
    set(run_, mode);
    EXPECT_EQ(why_not_trusted(run_), run_ + " can be written by others");
  }
  if (!can_be_others()) GTEST_SKIP() << "the rest needs root";
  set(run_, 0755);
  ASSERT_EQ(chown(run_.c_str(), other_user, other_user), 0);
  EXPECT_EQ(why_not_trusted(run_), run_ + " belongs to user 65533, not to you");
}

TEST_F(OwnFolder, IsOpenedOnlyIfItIsThisUsersAlone) {
  const auto opened = open_own_folder(run_);
  ASSERT_TRUE(opened);
  EXPECT_GE(*opened, 0);
  close(*opened);
  EXPECT_EQ(*open_own_folder(run_ + "/nothing"), -1);
  fs::create_directory_symlink(run_, project_ + "/link");
  EXPECT_FALSE(open_own_folder(project_ + "/link"));
  std::ofstream(project_ + "/file") << "x";
  EXPECT_FALSE(open_own_folder(project_ + "/file"));
  set(run_, 0775);
  EXPECT_FALSE(open_own_folder(run_)) << "what dllaunch makes is closed even to a private group";
  for (const unsigned mode : {0777U, 01777U, 0757U}) {
    set(run_, mode);
    EXPECT_EQ(open_own_folder(run_).error().what, run_ + " can be written by others");
  }
  if (!can_be_others()) GTEST_SKIP() << "the rest needs root";
  set(run_, 0755);
  ASSERT_EQ(chown(run_.c_str(), other_user, other_user), 0);
  EXPECT_EQ(open_own_folder(run_).error().what, run_ + " belongs to user 65533, not to you");
}

}  // namespace
}  // namespace dllaunch
