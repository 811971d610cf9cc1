#include "trainer/tensors/whole_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "tests/support/other_user.hpp"
#include "tests/trainer/scratch_folder.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

Result<Ok> any_size(std::uint64_t) {
  return Ok{};
}

TEST(WholeFile, IsRead) {
  const ScratchFolder folder;
  write_text(folder / "a", "abc");
  EXPECT_EQ(read_whole_file(folder / "a", any_size)->size(), 3u);
  write_text(folder / "empty", "");
  EXPECT_TRUE(read_whole_file(folder / "empty", any_size)->empty());
}

TEST(WholeFile, RejectsOtherFileTypes) {
  const ScratchFolder folder;
  const auto absent = read_whole_file(folder / "absent", any_size);
  EXPECT_EQ(absent.error().kind, ErrorKind::bad_request);
  EXPECT_EQ(absent.error().what, "absent is missing");
  ASSERT_EQ(mkfifo((folder / "fifo").c_str(), 0600), 0);
  EXPECT_EQ(read_whole_file(folder / "fifo", any_size).error().what,
            "fifo cannot be read: it is not a regular file");
  fs::create_directory(folder / "directory");
  EXPECT_EQ(read_whole_file(folder / "directory", any_size).error().what,
            "directory cannot be read: Is a directory");
}

/// A sparse file of 200 GB: nothing is read, so nothing is allocated.
TEST(WholeFile, ItsSizeIsJudgedFirst) {
  const ScratchFolder folder;
  write_text(folder / "huge", "");
  fs::resize_file(folder / "huge", 200'000'000'000);
  const auto refused = read_whole_file(folder / "huge", [](std::uint64_t bytes) -> Result<Ok> {
    return Error{ErrorKind::bad_request, std::to_string(bytes), ""};
  });
  EXPECT_EQ(refused.error().what, "200000000000");
}

TEST(WholeFile, UnreadableForNowIsUnavailable) {
  const ScratchFolder folder;
  write_text(folder / "a", "abc");
  fs::permissions(folder / "a", fs::perms::none);
  fs::permissions(folder.path(), fs::perms::all);
  {
    const OtherUser nobody;
    const auto denied = read_whole_file(folder / "a", any_size);
    ASSERT_FALSE(denied);
    EXPECT_EQ(denied.error().kind, ErrorKind::unavailable);
    EXPECT_EQ(denied.error().what, "a cannot be read: Permission denied");
  }
  fs::permissions(folder / "a", fs::perms::owner_all);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none = before;
  none.rlim_cur = 0;
  setrlimit(RLIMIT_NOFILE, &none);
  const auto too_many = read_whole_file(folder / "a", any_size);
  setrlimit(RLIMIT_NOFILE, &before);
  ASSERT_FALSE(too_many);
  EXPECT_EQ(too_many.error().kind, ErrorKind::unavailable);
  EXPECT_THAT(too_many.error().what, HasSubstr("Too many open files"));
}

}  // namespace
}  // namespace dllaunch
