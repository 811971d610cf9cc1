#include "launcher/components/component_group.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "launcher/base/shell_quote.hpp"
#include "tests/support/temporary_folder.hpp"

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

ComponentGroup::Start shell(const std::string& line, const std::string& bash = "/bin/bash") {
  return [line, bash] {
    return OwnedProcess::start({.program = bash,
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

// A component that sets its traps says so by a file, for which the others wait: no test counts on
// how fast a shell starts.
struct TrapSet {
  TemporaryFolder folder;
  std::string file = shell_quote(folder.path() + "/set");
  std::string said = ": > " + file + "; ";
  std::string awaited = "until [ -e " + file + " ]; do sleep 0.02; done; ";

  void await() const {
    for (int i = 0; i < 3000 && !std::filesystem::exists(folder.path() + "/set"); ++i)
      std::this_thread::sleep_for(10ms);
  }
};

TEST(ComponentGroup, EndsTheOthersWithOne) {
  const TrapSet trap;
  ComponentGroup group(two, 60s);
  ASSERT_TRUE(group.start({shell("trap 'kill $!; exit 5' INT; " + trap.said + "sleep 600 & wait"),
                           shell(trap.awaited + "exit 0")}));
  wait_for_end(group);
  EXPECT_EQ(group.decided(), 1u);
  EXPECT_EQ(group.codes(), (Codes{5, 0}));
}

TEST(ComponentGroup, KillsWhatDoesNotEnd) {
  const TrapSet trap;
  ComponentGroup group(two, 0s);
  ASSERT_TRUE(group.start(
      {shell(trap.awaited + "exit 3"), shell("trap '' INT; " + trap.said + "sleep 600")}));
  wait_for_end(group);
  EXPECT_EQ(group.decided(), 0u);
  EXPECT_EQ(group.codes(), (Codes{3, 128 + 9}));
}

// bash drops an INT during a command in the foreground, and goes on.
TEST(ComponentGroup, EndsAScriptBeforeItsSupervisor) {
  const TrapSet trap;
  ComponentGroup group(two, 60s);
  ASSERT_TRUE(group.start({shell("trap 'exit 130' INT; " + trap.said + "sleep 600; exec sleep 601"),
                           shell(trap.awaited + "sleep 0.1")}));
  const auto began = ComponentGroup::Clock::now();
  wait_for_end(group);
  EXPECT_EQ(group.codes(), (Codes{130, 0}));
  EXPECT_LT(ComponentGroup::Clock::now() - began, 20s);
}

// bash forgets a signal that comes as it gives way to another program; this one by its trap.
TEST(ComponentGroup, TellsWhatAScriptGaveWayTo) {
  const TrapSet trap;
  const TrapSet heard;
  ComponentGroup group(two, 600s);
  ASSERT_TRUE(group.start(
      {shell("trap '" + heard.said + "' INT; " + trap.said + heard.awaited + "exec sleep 600"),
       shell(trap.awaited + "exit 3")}));
  wait_for_end(group);
  EXPECT_EQ(group.codes(), (Codes{128 + 2, 3}));
}

// As an update does by rename: its path reads "... (deleted)" then. A second INT means "at once".
TEST(ComponentGroup, TellsOnceAProgramWhoseFileIsReplaced) {
  const TrapSet trap;
  const TrapSet told;
  const TrapSet replaced;
  const std::string bash = trap.folder.path() + "/bash";
  std::filesystem::copy_file("/bin/bash", bash);
  ComponentGroup group(two, 600s);
  ASSERT_TRUE(group.start({shell("n=0; trap 'n=$((n + 1)); " + told.said + "' INT; " + trap.said +
                                     replaced.awaited + "exit $((10 + n))",
                                 bash),
                           shell(trap.awaited + "exit 3")}));
  for (int i = 0; i < 3000 && !std::filesystem::exists(told.folder.path() + "/set"); ++i) {
    group.look(ComponentGroup::Clock::now());
    std::this_thread::sleep_for(10ms);
  }
  std::filesystem::copy_file("/bin/bash", bash + ".new");
  std::filesystem::rename(bash + ".new", bash);
  group.look(ComponentGroup::Clock::now());
  std::ofstream(replaced.folder.path() + "/set").flush();
  wait_for_end(group);
  EXPECT_EQ(group.codes(), (Codes{11, 3}));
}

TEST(ComponentGroup, LetsThoseSaveThatWereTold) {
  const TrapSet trap;
  const TrapSet other;
  const std::string runs = "while :; do sleep 0.05; done";
  ComponentGroup group({{.name = "a"}, {.name = "b"}}, 60s);
  ASSERT_TRUE(
      group.start({shell("trap 'exit 9' INT; trap 'sleep 1; exit 5' TERM; " + trap.said + runs),
                   shell("trap 'exit 4' TERM; " + other.said + runs)}));
  trap.await();
  other.await();
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
