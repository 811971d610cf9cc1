#include "trainer/reports/report_file.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <unistd.h>

#include "tests/trainer/checkpoints/size_limit.hpp"
#include "tests/trainer/scratch_folder.hpp"

namespace dllaunch {
namespace {

TEST(ReportFile, IsReplacedAtomically) {
  const ScratchFolder folder;
  ASSERT_TRUE(replace_file(folder / "a.csv", "first"));
  ASSERT_TRUE(replace_file(folder / "a.csv", "second"));
  EXPECT_EQ(read_text(folder / "a.csv"), "second");
  {
    const SizeLimit full(100);
    EXPECT_FALSE(replace_file(folder / "a.csv", std::string(200, 'x')));
  }
  EXPECT_EQ(read_text(folder / "a.csv"), "second");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
  EXPECT_FALSE(replace_file(folder / "absent" / "a.csv", "x"));
}

TEST(ReportFile, APartialWriteIsTruncated) {
  const ScratchFolder folder;
  ASSERT_TRUE(append_to_file(folder / "a.csv", "one\n"));
  {
    const SizeLimit full(10);
    const auto refused = append_to_file(folder / "a.csv", "two and more\n");
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().what.find("a.csv: File too large"), std::string::npos)
        << refused.error().what;
    EXPECT_EQ(read_text(folder / "a.csv"), "one\n");
    EXPECT_TRUE(append_to_file(folder / "a.csv", "two\n"));
  }
  EXPECT_EQ(read_text(folder / "a.csv"), "one\ntwo\n");
}

TEST(ReportFile, AFullDiskIsNamed) {
  const int full = ::open("/dev/full", O_WRONLY);
  if (full < 0) GTEST_SKIP() << "no /dev/full";
  std::int64_t size = 7;
  const auto refused = append_whole(full, "x", size);
  ::close(full);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().what, "No space left on device");
  EXPECT_EQ(size, 7);
}

TEST(ReportFile, IsRenamedToTheFirstFreeNumber) {
  const ScratchFolder folder;
  for (const char* text : {"a", "b"}) {
    write_text(folder / "x", text);
    ASSERT_TRUE(set_file_aside(folder / "x"));
  }
  EXPECT_EQ(read_text(folder / "x.1"), "a");
  EXPECT_EQ(read_text(folder / "x.2"), "b");
  EXPECT_FALSE(set_file_aside(folder / "x"));
}

}  // namespace
}  // namespace dllaunch
