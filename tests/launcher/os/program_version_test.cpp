#include "launcher/os/program_version.hpp"

#include <gtest/gtest.h>

#include "tests/support/fake_system.hpp"

namespace dllaunch {
namespace {

TEST(ProgramVersion, IsTheFirstWordThatBeginsWithADigit) {
  EXPECT_EQ(version_in("slurm-wlm 22.05.8"), "22.05.8");
  EXPECT_EQ(version_in("mpirun (Open MPI) 4.1.4\n\nReport bugs"), "4.1.4");
  EXPECT_EQ(version_in("4"), "4");
  EXPECT_EQ(version_in("no version\n"), "");
  EXPECT_EQ(version_in(""), "");
}

TEST(ProgramVersion, IsToldWithItsPathOrWithTheReasonWhyNot) {
  FakeSystem system;
  system.answers["mpirun --version"] = {0, "mpirun (Open MPI) 5.0.7\n", ""};
  system.answers["sinfo --version"] = {1, "", "no slurm.conf\nat all\n"};
  system.programs = {"hangs"};
  const auto told = [&](const char* name) {
    return observe_program(system, name, std::chrono::seconds(1));
  };
  EXPECT_EQ(told("mpirun")["version"], "5.0.7");
  EXPECT_EQ(told("mpirun")["path"], "/usr/bin/mpirun");
  EXPECT_EQ(told("sinfo")["why"], "no slurm.conf");
  EXPECT_EQ(told("hangs")["found"], false);
  EXPECT_EQ(told("nothing")["why"], "nothing is not installed");
}

}  // namespace
}  // namespace dllaunch
