#include "launcher/rank/node_folders.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <thread>

#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;

EnvLookup environment(std::map<std::string, std::string> values) {
  return [values = std::move(values)](std::string_view name) -> std::optional<std::string> {
    const auto found = values.find(std::string(name));
    return found == values.end() ? std::nullopt : std::optional(found->second);
  };
}

TEST(NodeFolders, AreNamedOnTheNode) {
  const auto lookup = environment({{"USER", "ann"}, {"SLURM_JOB_ID", "17"}, {"SLURM_NODEID", "3"}});
  EXPECT_EQ(fill_in("/tmp/{user}-{job}-{node}/{user}", lookup), "/tmp/ann-17-3/ann");
  EXPECT_EQ(fill_in("/tmp/{user}-{job}", environment({})),
            "/tmp/" + std::to_string(geteuid()) + "-none");
  EXPECT_EQ(fill_in("/tmp/{user}", environment({{"USER", "../../etc"}})), "/tmp/.._.._etc")
      << "one folder's name, whatever the variable holds";
  EXPECT_EQ(fill_in("{user}", environment({{"USER", "{user}"}})), "{user}") << "and it ends";
}

TEST(NodeFolders, TheSuffixStandsBeforeTheDomain) {
  EXPECT_EQ(with_suffix("jwb0001", "i"), "jwb0001i");
  EXPECT_EQ(with_suffix("jwb0001.juwels", "i"), "jwb0001i.juwels");
  EXPECT_EQ(with_suffix("n1.site", ""), "n1.site");
}

TEST(NodeFolders, AreMadeOnceForOneUser) {
  TemporaryFolder folder;
  const auto path = folder.path() + "/a/b";
  std::vector<std::thread> ranks;
  std::vector<int> made(8, 0);
  for (std::size_t i = 0; i < made.size(); ++i)
    ranks.emplace_back([&made, &path, i] { made[i] = make_own_folder(path) ? 1 : 0; });
  for (auto& rank : ranks) rank.join();
  EXPECT_THAT(made, testing::Each(1));
  struct stat info {};
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
}

TEST(NodeFolders, AnotherUsersFoldersAreNotUsed) {
  TemporaryFolder folder;
  const auto path = folder.path() + "/trap";
  std::filesystem::create_symlink(folder.path(), path);
  const auto refused = make_own_folder(path);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().what, HasSubstr("not a folder"));
  EXPECT_FALSE(make_own_folder("/proc/none/such"));
  if (geteuid() != 0) GTEST_SKIP() << "only root can make a folder that is another user's";
  const auto other = folder.path() + "/other";
  std::filesystem::create_directory(other);
  ASSERT_EQ(chown(other.c_str(), 12345, 12345), 0);
  EXPECT_THAT(make_own_folder(other).error().what, HasSubstr("another user's"));
}

}  // namespace
}  // namespace dllaunch
