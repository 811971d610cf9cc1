#include "support/file_text.hpp"

#include <gtest/gtest.h>

namespace dllaunch {
namespace {

TEST(FileText, ReadsAll) {
  const auto text = read_file_text(DLLAUNCH_SOURCE_DIR "/tests/topology/CMakeLists.txt");
  ASSERT_TRUE(text);
  EXPECT_EQ(text->substr(0, 13), "dllaunch_test");
}

TEST(FileText, NamesWhatItCannotRead) {
  EXPECT_EQ(read_file_text("/no/such/file").error().what,
            "cannot read /no/such/file: No such file or directory");
  EXPECT_EQ(read_file_text("/").error().what, "cannot read /: Is a directory");
}

TEST(FileText, StopsAtAFileWithoutEnd) {
  EXPECT_EQ(read_file_text("/dev/zero").error().what, "/dev/zero is larger than 64 MiB");
}

}  // namespace
}  // namespace dllaunch
