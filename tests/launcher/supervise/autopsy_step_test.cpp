#include "launcher/supervise/autopsy_step.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/fake_system.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using Words = std::vector<std::string>;

TEST(AutopsyStep, NamesTheJobAsTheSupervisorKnowsIt) {
  SupervisedRun run;
  run.dir.path = "/r";
  EXPECT_EQ(autopsy_argv(run, StacksKind::stall, "why", "/d"),
            (Words{"env", "-u", "DLLAUNCH_RUN_DIR", "/d", "stacks", "--keep", "stall", "--why",
                   "why", "/r"}));
  run.allocation.job = "17";
  run.allocation.nodes = "n[1-2]";
  run.allocation.group = "1";
  EXPECT_EQ(autopsy_argv(run, StacksKind::time_limit, "why", "/d"),
            (Words{"env", "-u", "DLLAUNCH_RUN_DIR", "/d", "stacks", "--keep", "time_limit", "--why",
                   "why", "--job", "17", "--hosts", "n[1-2]", "--group", "1", "/r"}));
}

TEST(AutopsyStep, DoesNotRunWhereTheJobSaysNo) {
  FakeSystem system;
  system.programs = {"env"};
  SupervisedRun run;
  run.recovery.plan.autopsy = false;
  AutopsyStep step(system, run);
  step.begin(StacksKind::hang, "why", Clock::now());
  EXPECT_FALSE(step.runs(Clock::now()));
}

/// A program in place of `env`.
class ProgramAsEnv : public FakeSystem {
 public:
  explicit ProgramAsEnv(const std::string& body) {
    std::ofstream(path()) << "#!/bin/sh\n" << body << '\n';
    std::filesystem::permissions(path(), std::filesystem::perms::owner_all);
  }
  std::string path() const { return folder_.path() + "/env"; }
  std::optional<std::string> find_program(std::string_view) override { return path(); }

 private:
  TemporaryFolder folder_;
};

TEST(AutopsyStep, ThatHangsIsEnded) {
  ProgramAsEnv system("exec sleep 1000");
  SupervisedRun run;
  run.recovery.plan.autopsy = true;
  AutopsyStep step(system, run);
  const auto now = Clock::now();
  step.begin(StacksKind::hang, "why", now);
  EXPECT_TRUE(step.runs(now + 9s));
  EXPECT_FALSE(step.runs(now + 11s));
  EXPECT_THAT(system.logged, testing::HasSubstr("could not be read: no answer in time"));
  EXPECT_FALSE(step.runs(now + 12s));
}

TEST(AutopsyStep, ThatCrashesIsTold) {
  ProgramAsEnv system("kill -SEGV $$");
  SupervisedRun run;
  run.recovery.plan.autopsy = true;
  AutopsyStep step(system, run);
  const auto now = Clock::now();
  step.begin(StacksKind::hang, "why", now);
  while (step.runs(now)) std::this_thread::sleep_for(1ms);
  EXPECT_THAT(system.logged, testing::HasSubstr("could not be read: exit code 139"));
}

TEST(AutopsyStep, TheLastTwoAreForTheEndOfTheRanks) {
  ProgramAsEnv system("exec sleep 1000");
  SupervisedRun run;
  run.recovery.plan.autopsy = true;
  AutopsyStep step(system, run);
  auto now = Clock::now();
  const auto begins = [&](bool of_end) {
    step.begin(of_end ? StacksKind::hang : StacksKind::stall, "why", now);
    const bool began = step.runs(now);
    now += 60s;
    step.runs(now);
    return began;
  };
  for (int i = 0; i < 8; ++i) EXPECT_TRUE(begins(false));
  EXPECT_FALSE(begins(false));
  step.forget_one();
  EXPECT_TRUE(begins(false));
  EXPECT_TRUE(begins(true) && begins(true));
  EXPECT_FALSE(begins(true));
}

TEST(AutopsyStep, ThatCannotStartHoldsNothingUp) {
  FakeSystem system;
  SupervisedRun run;
  run.recovery.plan.autopsy = true;
  AutopsyStep step(system, run);
  step.begin(StacksKind::hang, "why", Clock::now());
  EXPECT_FALSE(step.runs(Clock::now()));
  EXPECT_EQ(system.logged, "");
}

}  // namespace
}  // namespace dllaunch
