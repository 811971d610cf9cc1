#include "launcher/components/component_group.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <thread>

namespace dllaunch {
namespace {

using namespace std::chrono_literals;
using Codes = std::vector<std::optional<int>>;

const std::vector<ComponentOutline> two = {{.name = "loader"},
                                           {.name = "trainer", .ends_job = true}};

TEST(EndsTheJob, AFailureOrTheOneThatIsTheJob) {
  EXPECT_EQ(ends_the_job(two, Codes{std::nullopt, std::nullopt}), std::nullopt);
  EXPECT_EQ(ends_the_job(two, Codes{0, std::nullopt}), std::nullopt) << "waits for the trainer";
  EXPECT_EQ(ends_the_job(two, Codes{std::nullopt, 0}), 1u);
  EXPECT_EQ(ends_the_job(two, Codes{7, std::nullopt}), 0u);
  EXPECT_EQ(ends_the_job(two, Codes{7, 0}), 0u) << "a failure first";
}

ComponentGroup::Start shell(const std::string& line) {
  return [line] {
    return OwnedProcess::start({.program = "/bin/bash",
                                .argv = {"bash", "-c", line},
                                .environment = {},
                                .output_path = "/dev/null"});
  };
}

void wait_for_end(ComponentGroup& group) {
  for (int i = 0; i < 3000 && !group.over(); ++i) {
    group.look(ComponentGroup::Clock::now());
    std::this_thread::sleep_for(10ms);
  }
  ASSERT_TRUE(group.over());
}

TEST(ComponentGroup, EndsTheOthersWithOne) {
  ComponentGroup group(two, 60s);
  ASSERT_TRUE(group.start({shell("trap 'exit 5' INT; sleep 600 & wait"), shell("sleep 0.2")}));
  wait_for_end(group);
  EXPECT_EQ(group.decided(), 1u);
  EXPECT_EQ(group.codes(), (Codes{5, 0}));
}

TEST(ComponentGroup, KillsWhatDoesNotEnd) {
  ComponentGroup group(two, 0s);
  ASSERT_TRUE(group.start({shell("sleep 0.5; exit 3"), shell("trap '' INT; sleep 600")}));
  wait_for_end(group);
  EXPECT_EQ(group.decided(), 0u);
  EXPECT_EQ(group.codes(), (Codes{3, 128 + 9}));
}

// bash drops an INT during a command in the foreground, and goes on.
TEST(ComponentGroup, EndsAScriptBeforeItsSupervisor) {
  ComponentGroup group(two, 60s);
  ASSERT_TRUE(
      group.start({shell("trap 'exit 130' INT; sleep 600; exec sleep 601"), shell("sleep 0.5")}));
  const auto began = ComponentGroup::Clock::now();
  wait_for_end(group);
  EXPECT_EQ(group.codes(), (Codes{130, 0}));
  EXPECT_LT(ComponentGroup::Clock::now() - began, 20s);
}

TEST(ComponentGroup, LetsThoseSaveThatWereTold) {
  const std::string saves = "trap 'exit 9' INT; trap 'sleep 1; exit 5' TERM; ";
  ComponentGroup group({{.name = "a"}, {.name = "b"}}, 60s);
  ASSERT_TRUE(group.start({shell(saves + "while :; do sleep 0.05; done"),
                           shell("trap 'exit 4' TERM; while :; do sleep 0.05; done")}));
  std::this_thread::sleep_for(1s);
  group.send(SIGTERM);
  wait_for_end(group);
  EXPECT_EQ(group.codes(), (Codes{5, 4}));
}

TEST(ComponentGroup, WaitsForAllThatComplete) {
  ComponentGroup group({{.name = "a"}, {.name = "b"}}, 60s);
  ASSERT_TRUE(group.start({shell("exit 0"), shell("sleep 0.2")}));
  wait_for_end(group);
  EXPECT_EQ(group.decided(), std::nullopt);
  EXPECT_EQ(group.codes(), (Codes{0, 0}));
}

TEST(ComponentGroup, OneThatCannotStartEndsTheRest) {
  ComponentGroup group(two, 60s);
  const auto missing = [] {
    return OwnedProcess::start({.program = "/no/such", .argv = {"x"}, .environment = {}});
  };
  EXPECT_FALSE(group.start({shell("sleep 600"), missing}));
}

}  // namespace
}  // namespace dllaunch
