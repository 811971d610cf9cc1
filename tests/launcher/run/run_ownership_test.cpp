#include "launcher/run/run_ownership.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "launcher/cli/command_line.hpp"
#include "tests/support/fake_system.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;

class RunOwnership : public testing::Test {
 protected:
  RunOwnership() { system_.host = "n3"; }

  std::int64_t take() {
    const auto ownership = take_run_ownership(run_, system_);
    EXPECT_TRUE(ownership) << ownership.error().what;
    return ownership ? ownership->fencing_token() : 0;
  }
  void events(const std::string& text) { std::ofstream(run_.events(), std::ios::app) << text; }

  const TemporaryFolder folder_;
  const RunDir run_{.path = folder_.path()};
  FakeSystem system_;
};

TEST_F(RunOwnership, SaysWhoHasItForWhomItIsTaken) {
  system_.variables = {{"SLURM_JOB_ID", "17"}, {"SLURM_RESTART_COUNT", "2"}};
  EXPECT_EQ(take(), 1);
  const auto holder = *run_owner(run_.path);
  ASSERT_TRUE(holder);
  EXPECT_EQ(holder->second.host, "n3");
  EXPECT_EQ(holder->second.pid, getpid());
  EXPECT_EQ(holder->second.job, "17");
  EXPECT_EQ(holder->second.restart, 2);
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  EXPECT_NEAR(holder->second.since, std::chrono::duration<double>(now).count(), 60);
}

TEST_F(RunOwnership, WithoutSlurmItIsAProcess) {
  system_.variables = {{"SLURM_RESTART_COUNT", "many"}};
  EXPECT_EQ(take(), 1);
  EXPECT_EQ(take(), 2);
  EXPECT_EQ(dllaunch::RunOwnership::told(run_.path, 1).check().error().what,
            "run directory was taken over by process " + std::to_string(getpid()) +
                " on n3 (fencing token 2, ours is 1)");
}

/// As `cp -r RUN/* elsewhere` does it: the new incarnation's lines must count.
TEST_F(RunOwnership, IsAboveWhatTheEventsTellOfEvenWithoutLeases) {
  events(R"({"time":1,"event":"start","generation":6})"
         "\n");
  events(R"({"time":2,"event":"step","epoch":1,"step":1,"generation":7})"
         "\n");
  events(R"({"time":3,"event":"step","epoch":1,"step":2,"generation":5})"
         "\n");
  EXPECT_EQ(take(), 8);
  EXPECT_EQ(take(), 9);
}

TEST_F(RunOwnership, DamageInTheEventsIsNoGeneration) {
  for (const char* number :
       {"9e99", "-4", "\"12\"", "2.5", "9223372036854775807", "1000000000001", "null", "[3]"}) {
    events(std::string(R"({"time":1,"event":"start","generation":)") + number + "}\n");
  }
  events("\xff{\"generation\": 90");
  EXPECT_EQ(take(), 1);
}

TEST_F(RunOwnership, TheVerbPrintsTheNumberAlone) {
  const auto call = [&](const std::string& directory) {
    auto parsed = parse_command_line(command_groups(), {"lease", directory},
                                     [](const std::string&) { return false; });
    return std::get<Invocation>(*parsed).body(system_);
  };
  EXPECT_EQ(*call(run_.path), 0);
  EXPECT_EQ(*call(run_.path), 0);
  EXPECT_EQ(system_.printed, "1\n2\n");
  EXPECT_EQ(system_.logged, "");
  const auto missing = call(run_.path + "/missing");
  ASSERT_FALSE(missing);
  EXPECT_EQ(exit_code_of(missing.error().kind), 3);
  EXPECT_THAT(missing.error().what, HasSubstr("/missing/.lease"));
  EXPECT_EQ(system_.printed, "1\n2\n");
}

}  // namespace
}  // namespace dllaunch
