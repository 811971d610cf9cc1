#include "support/held_folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

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

}  // namespace
}  // namespace dllaunch
