#include "launcher/daemon/unit.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "launcher/posix_world.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

const DaemonSettings odd{
    .port = 8080, .interval_s = 30, .most_jobs = 5, .notify = "echo \"50 %\" $1"};

TEST(DaemonUnit, StartsTheDaemonAsItWasAskedFor) {
  EXPECT_EQ(start_words("/bin/dllaunch", {}),
            (std::vector<std::string>{"/bin/dllaunch", "daemon", "start"}));
  EXPECT_TRUE(matches_golden("launcher/daemon.service", systemd_unit("/opt/my bin/dllaunch", odd)));
}

TEST(DaemonUnit, SystemdItselfUnderstandsIt) {
  PosixWorld world(Console{});
  if (!world.find_program("systemd-analyze")) GTEST_SKIP() << "unavailable: systemd-analyze";
  const TemporaryFolder folder;
  const auto path = folder.path() + "/dllaunch.service";
  std::ofstream(path) << systemd_unit("/bin/true", odd);
  const auto checked = world.run({"systemd-analyze", "--user", "--man=no", "verify", path},
                                 std::chrono::seconds(60));
  ASSERT_TRUE(checked);
  EXPECT_EQ(checked->exit_code, 0) << checked->err;
}

}  // namespace
}  // namespace dllaunch
