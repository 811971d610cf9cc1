#include "support/file_text.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "tests/support/temporary_folder.hpp"

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

TEST(FileText, RefusesWhatIsNoFile) {
  const TemporaryFolder folder;
  const auto path = folder.path() + "/a.json";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  for (const auto links : {FileLinks::followed, FileLinks::refused})
    EXPECT_EQ(read_file_text(path, links).error().what,
              "cannot read " + path + ": it is a pipe or a device, not a file");
  EXPECT_FALSE(read_file_text("/dev/stdin", FileLinks::refused));
  std::ofstream(folder.path() + "/file") << "text";
  std::filesystem::create_symlink("file", folder.path() + "/link");
  EXPECT_EQ(*read_file_text(folder.path() + "/link"), "text");
  EXPECT_EQ(read_file_text(folder.path() + "/link", FileLinks::refused).error().what,
            "cannot read " + folder.path() + "/link: it is a link");
  EXPECT_EQ(read_file_text(folder.path() + "/file", FileLinks::refused, 3).error().kind,
            ErrorKind::bad_request);
}

TEST(FileText, StopsAtAFileWithoutEnd) {
  EXPECT_EQ(read_file_text("/dev/zero").error().what, "/dev/zero is larger than 64 MiB");
}

}  // namespace
}  // namespace dllaunch
