#include "launcher/daemon/client/unit.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "launcher/os/posix_system.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

const DaemonSettings odd{
    .port = 8080, .interval_s = 30, .most_jobs = 5, .notify = "echo \"50 %\" $1"};

const std::vector<std::pair<std::string, std::string>> environment = {
    {"PATH", "/opt/slurm/bin:/usr/bin"}, {"SLURM_CONF", "/etc/50 % \"of\" $it.conf"}};

TEST(DaemonUnit, StartsTheDaemonAsItWasAskedFor) {
  EXPECT_EQ(start_argv("/bin/dllaunch", {}),
            (std::vector<std::string>{"/bin/dllaunch", "daemon", "start"}));
  EXPECT_TRUE(matches_golden("launcher/daemon.service",
                             systemd_unit("/opt/my bin/dllaunch", odd, environment)));
}

TEST(DaemonUnit, SystemdItselfUnderstandsIt) {
  PosixSystem system(Console{});
  if (!system.find_program("systemd-analyze")) GTEST_SKIP() << "unavailable: systemd-analyze";
  const TemporaryFolder folder;
  const auto path = folder.path() + "/dllaunch.service";
  std::ofstream(path) << systemd_unit("/bin/true", odd, environment);
  // It is not started, so any folder does for its run-time files.
  const auto checked = system.run({"env", "XDG_RUNTIME_DIR=" + folder.path(), "systemd-analyze",
                                   "--user", "--man=no", "verify", path},
                                  std::chrono::seconds(60));
  ASSERT_TRUE(checked);
  EXPECT_EQ(checked->exit_code, 0) << checked->err;
}

}  // namespace
}  // namespace dllaunch
