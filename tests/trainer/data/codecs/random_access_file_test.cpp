#include "trainer/data/codecs/random_access_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <limits>
#include <vector>

#include "tests/trainer/scratch_folder.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;

TEST(RandomAccessFile, ReadsAtAnyOffset) {
  const ScratchFolder folder;
  write_text(folder / "a", "0123456789");
  auto file = RandomAccessFile::open(folder / "a");
  ASSERT_TRUE(file) << file.error().what;
  EXPECT_EQ(file->size(), 10u);
  std::vector<std::uint8_t> bytes(3);
  ASSERT_TRUE(file->read(7, bytes));
  EXPECT_EQ(bytes, (std::vector<std::uint8_t>{'7', '8', '9'}));
  ASSERT_TRUE(file->read(0, bytes));
  EXPECT_EQ(bytes[0], '0');
  const RandomAccessFile moved = *std::move(file);
  EXPECT_TRUE(moved.read(4, bytes));
}

TEST(RandomAccessFile, ReportsATruncatedFileByName) {
  const ScratchFolder folder;
  write_text(folder / "a", "0123456789");
  auto file = RandomAccessFile::open(folder / "a");
  ASSERT_TRUE(file);
  std::filesystem::resize_file(folder / "a", 5);
  std::vector<std::uint8_t> bytes(3);
  EXPECT_TRUE(file->read(2, bytes));
  for (const std::uint64_t offset :
       {std::uint64_t{4}, std::uint64_t{1} << 40, std::numeric_limits<std::uint64_t>::max()}) {
    auto beyond = file->read(offset, bytes);
    ASSERT_FALSE(beyond);
    EXPECT_EQ(beyond.error().kind, ErrorKind::unavailable);
    EXPECT_THAT(beyond.error().what, HasSubstr((folder / "a").string()));
  }
}

TEST(RandomAccessFile, RejectsWhatIsNotAFile) {
  const ScratchFolder folder;
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  for (const auto& path : {folder / "absent", folder.path(), folder / "pipe"}) {
    auto file = RandomAccessFile::open(path);
    ASSERT_FALSE(file) << path;
    EXPECT_THAT(file.error().what, HasSubstr(path.string() + ": "));
  }
}

/// A limit on open files stands for any system error. It must not make the image bad.
TEST(RandomAccessFile, SystemErrorsDoNotMakeAFileBad) {
  const ScratchFolder folder;
  write_text(folder / "a", "0123456789");
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{.rlim_cur = 0, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  auto refused = RandomAccessFile::open(folder / "a");
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::unavailable);
  EXPECT_THAT(refused.error().what, HasSubstr("/a: Too many open files"));
  auto absent = RandomAccessFile::open(folder / "b");
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().kind, ErrorKind::bad_request);
}

}  // namespace
}  // namespace dllaunch
