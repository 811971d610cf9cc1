#include "launcher/supervise/autopsy_step.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/fake_system.hpp"

namespace dllaunch {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using Words = std::vector<std::string>;

TEST(AutopsyStep, NamesTheJobAsTheSupervisorKnowsIt) {
  SupervisedRun run;
  run.dir.path = "/r";
  EXPECT_EQ(autopsy_argv(run, "why", KeepStacks::of_standstill, "/d"),
            (Words{"env", "-u", "DLLAUNCH_RUN_DIR", "/d", "stacks", "--keep", "why", "--standstill",
                   "/r"}));
  run.allocation.job = "17";
  run.allocation.nodes = "n[1-2]";
  run.allocation.group = "1";
  EXPECT_EQ(autopsy_argv(run, "why", KeepStacks::always, "/d"),
            (Words{"env", "-u", "DLLAUNCH_RUN_DIR", "/d", "stacks", "--keep", "why", "--job", "17",
                   "--hosts", "n[1-2]", "--group", "1", "/r"}));
}

TEST(AutopsyStep, DoesNotRunWhereTheJobSaysNo) {
  FakeSystem system;
  system.programs = {"env"};
  SupervisedRun run;
  run.recovery.plan.autopsy = false;
  AutopsyStep step(system, run);
  step.begin("why", KeepStacks::always, Clock::now());
  EXPECT_FALSE(step.runs(Clock::now()));
}

/// Without `env`, or if the process fails: the ranks are ended all the same.
TEST(AutopsyStep, ThatCannotRunHoldsNothingUp) {
  FakeSystem system;
  SupervisedRun run;
  run.recovery.plan.autopsy = true;
  AutopsyStep step(system, run);
  step.begin("why", KeepStacks::always, Clock::now());
  EXPECT_FALSE(step.runs(Clock::now()));
  EXPECT_EQ(system.logged, "");
}

}  // namespace
}  // namespace dllaunch
