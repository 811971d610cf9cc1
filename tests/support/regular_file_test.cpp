#include "support/regular_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

TEST(RegularFile, OpensFilesAndLinksToThem) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() + "/file") << "text";
  std::filesystem::create_symlink("file", folder.path() + "/link");
  for (const char* name : {"/file", "/link"}) {
    const int file = open_regular_file(folder.path() + name);
    ASSERT_GE(file, 0) << name;
    char byte = 0;
    EXPECT_EQ(read(file, &byte, 1), 1);
    EXPECT_EQ(byte, 't');
    close(file);
  }
}

TEST(RegularFile, WhereLinksAreRefusedIsNoLink) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() + "/file") << "text";
  std::filesystem::create_symlink("file", folder.path() + "/link");
  EXPECT_EQ(open_regular_file(folder.path() + "/link", FileLinks::refused), -1);
  EXPECT_EQ(errno, ELOOP);
  const int file = open_regular_file(folder.path() + "/file", FileLinks::refused);
  EXPECT_EQ(bytes_at(file, 1, 2), "ex");
  EXPECT_EQ(bytes_at(file, 3, 9), "t");
  EXPECT_EQ(bytes_at(file, 9, 9), "");
  close(file);
  EXPECT_EQ(bytes_at(-1, 0, 9), "");
}

TEST(RegularFile, WaitsForNothing) {
  const TemporaryFolder folder;
  ASSERT_EQ(mkfifo((folder.path() + "/pipe").c_str(), 0600), 0);
  std::filesystem::create_symlink("pipe", folder.path() + "/link");
  std::filesystem::create_symlink("/dev/zero", folder.path() + "/zero");
  for (const auto& [name, why] :
       {std::pair("/pipe", EINVAL), std::pair("/link", EINVAL), std::pair("/zero", EINVAL),
        std::pair("", EISDIR), std::pair("/none", ENOENT)}) {
    EXPECT_EQ(open_regular_file(folder.path() + name), -1) << name;
    EXPECT_EQ(errno, why) << name;
  }
}

}  // namespace
}  // namespace dllaunch
