#include "trainer/backends/hip/miopen_folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "tests/support/temporary_folder.hpp"

namespace dllaunch::hip {
namespace {

namespace fs = std::filesystem;
using testing::IsEmpty;
using Variables = std::vector<std::pair<std::string, std::string>>;

EnvLookup with(std::map<std::string, std::string> variables) {
  return [variables](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  };
}

std::string own_name() {
  return "dllaunch-miopen-" + std::to_string(::geteuid());
}

TEST(MiopenFolder, LiesOnTheNodesOwnDisk) {
  const TemporaryFolder job;
  const TemporaryFolder other;
  EXPECT_EQ(node_disk(with({{"SLURM_TMPDIR", job.path()}, {"TMPDIR", other.path()}})), job.path());
  EXPECT_EQ(node_disk(with({{"TMPDIR", other.path()}})), other.path());
  EXPECT_EQ(node_disk(with({{"SLURM_TMPDIR", "/no/such"}, {"TMPDIR", "relative"}})), "/tmp");
  EXPECT_EQ(node_disk(with({})), "/tmp");
}

TEST(MiopenFolder, IsOfThisUserAlone) {
  const TemporaryFolder disk;
  const auto made = private_folder(disk.path());
  ASSERT_EQ(made, disk.path() + "/" + own_name());
  struct stat about {};
  ASSERT_EQ(::stat(made->c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777U, 0700U);
  EXPECT_EQ(private_folder(disk.path()), made) << "ranks of a node share it";
}

TEST(MiopenFolder, IsNotWhatSomebodyElsePrepared) {
  const TemporaryFolder disk;
  const fs::path folder = disk.path() + "/" + own_name();
  const TemporaryFolder elsewhere;
  fs::create_directory_symlink(elsewhere.path(), folder);
  EXPECT_EQ(private_folder(disk.path()), std::nullopt) << "a link";
  fs::remove(folder);
  std::ofstream{folder};
  EXPECT_EQ(private_folder(disk.path()), std::nullopt) << "a file";
  fs::remove(folder);
  fs::create_directory(folder);
  fs::permissions(folder, fs::perms::all);
  EXPECT_EQ(private_folder(disk.path()), std::nullopt) << "others may write to it";
  EXPECT_THAT(miopen_variables(with({{"TMPDIR", disk.path()}})), IsEmpty());
  EXPECT_EQ(private_folder("/no/such"), std::nullopt);
}

TEST(MiopenFolder, IsGivenInMiopensVariablesUnlessTheUserDid) {
  const TemporaryFolder disk;
  const std::string folder = disk.path() + "/" + own_name();
  EXPECT_EQ(miopen_variables(with({{"TMPDIR", disk.path()}})),
            (Variables{{"MIOPEN_USER_DB_PATH", folder + "/found"},
                       {"MIOPEN_CUSTOM_CACHE_DIR", folder + "/kernels"}}));
  EXPECT_TRUE(fs::is_directory(folder + "/found"));
  EXPECT_TRUE(fs::is_directory(folder + "/kernels"));
  EXPECT_EQ(miopen_variables(with({{"TMPDIR", disk.path()}, {"MIOPEN_USER_DB_PATH", "/mine"}})),
            (Variables{{"MIOPEN_CUSTOM_CACHE_DIR", folder + "/kernels"}}));
  EXPECT_THAT(miopen_variables(
                  with({{"MIOPEN_CUSTOM_CACHE_DIR", "/mine"}, {"MIOPEN_USER_DB_PATH", "/mine"}})),
              IsEmpty());
}

}  // namespace
}  // namespace dllaunch::hip
