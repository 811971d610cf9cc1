#include <gmock/gmock.h>

#include <filesystem>

#include "tests/launcher/preflight/node_samples.hpp"
#include "tests/support/fake_system.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

Json shm(double free_mib, double total_mib, const std::string& error = "") {
  return {{"total_bytes", total_mib * (1 << 20)},
          {"free_bytes", free_mib * (1 << 20)},
          {"error", error}};
}

TEST(PreflightShm, IsLargeEnoughForTheRanks) {
  const PreflightRequest four{.ranks_per_node = 4};
  EXPECT_EQ(judged("shm", four, {sample("n1", shm(4000, 8000))}), Words{"n1 ok"});
  EXPECT_EQ(judged("shm", four, {sample("n1", shm(127, 8000))}),
            Words{"n1 fail: less than 128 MiB free for 4 ranks"});
  EXPECT_EQ(judged("shm", four, {sample("n1", shm(200, 200))}),
            Words{"n1 warn: less than 256 MiB for 4 ranks"});
  EXPECT_EQ(judged("shm", {}, {sample("n1", shm(64, 64))}), Words{"n1 ok"});
}

TEST(PreflightShm, MustTakeAFile) {
  EXPECT_EQ(judged("shm", {}, {sample("n1", shm(900, 900, "create: Permission denied"))}),
            Words{"n1 fail: cannot write there: create: Permission denied"});
}

TEST(PreflightShm, IsSeenWhereItIs) {
  const TemporaryFolder root;
  std::filesystem::create_directories(root.path() + "/dev/shm");
  FakeSystem system;
  const PreflightRequest request;
  const auto seen = check_named("shm").observe({request, system, "n1", root.path()}, "");
  ASSERT_TRUE(seen);
  EXPECT_EQ(text_of(*seen, "error"), "");
  EXPECT_GT(number_of(*seen, "total_bytes"), 0);
  EXPECT_TRUE(std::filesystem::is_empty(root.path() + "/dev/shm"));
  const auto none = check_named("shm").observe({request, system, "n1", root.path() + "/none"}, "");
  EXPECT_THAT(text_of(*none, "error"), testing::HasSubstr("No such file"));
}

}  // namespace
}  // namespace dllaunch
