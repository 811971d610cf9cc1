// The watcher's step; srun is a script.
#include "launcher/supervise/watchdog_step.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/support/fake_system.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using Clock = std::chrono::steady_clock;

TEST(WatchdogStep, LooksFromTheLastNodeThatIsNotTheScripts) {
  EXPECT_EQ(node_to_watch_from({"n1", "n2", "n3"}, "n1"), "n3");
  EXPECT_EQ(node_to_watch_from({"n1", "n2", "n3"}, "n3"), "n2");
  EXPECT_EQ(node_to_watch_from({"n1"}, "n1"), "");
  EXPECT_EQ(node_to_watch_from({}, "n1"), "");
}

class WatchedRun : public testing::Test {
 protected:
  WatchedRun() {
    run_.dir = {.path = folder_.path()};
    run_.recovery.plan.spare_nodes = 1;
    run_.allocation = {.job = "17", .nodes = "n[1-3]", .host = "n1"};
    run_.nodes = 2;
    system_.answers["scontrol show job 17"] = {
        0, "JobId=17 JobName=a\n   JobState=RUNNING\n   Restarts=0\n   NodeList=n[1-3]\n", ""};
    system_.answers["scontrol show node n[1-3]"] = {0, "NodeName=n1 State=ALLOCATED\n", ""};
    system_.programs = {"env"};
    srun("echo \"$0 $*\"; exec sleep 300");
    old_path_ = getenv("PATH");
    setenv("PATH", (folder_.path() + ":" + old_path_).c_str(), 1);
  }
  ~WatchedRun() override { setenv("PATH", old_path_.c_str(), 1); }

  void srun(const std::string& script) const {
    const auto path = folder_.path() + "/srun";
    std::ofstream(path) << "#!/bin/sh\n" << script << "\n";
    chmod(path.c_str(), 0755);
  }
  std::string log() const {
    std::ifstream in(folder_.path() + "/watcher.log");
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static bool within_a_minute(const std::function<bool()>& holds) {
    const auto until = Clock::now() + 60s;
    while (!holds() && Clock::now() < until) std::this_thread::sleep_for(10ms);
    return holds();
  }

  TemporaryFolder folder_;
  FakeSystem system_;
  SupervisedRun run_;
  std::string old_path_;
};

TEST_F(WatchedRun, HasAStepBesideTheRanksThatEndsWithIt) {
  pid_t pid = 0;
  {
    WatchdogStep step(system_, run_);
    EXPECT_EQ(step.pid(), 0);
    step.keep(Clock::now());
    pid = step.pid();
    ASSERT_GT(pid, 0);
    EXPECT_TRUE(within_a_minute([&] { return !log().empty(); }));
    EXPECT_THAT(log(), HasSubstr("--jobid=17 --overlap --nodelist=n3 --nodes=1 --ntasks=1 "));
    EXPECT_THAT(log(), HasSubstr(" supervise --watch-script n1 --run-dir " + folder_.path()));
    step.keep(Clock::now() + 60s);
    EXPECT_EQ(step.pid(), pid) << "it runs";
  }
  EXPECT_NE(kill(pid, 0), 0);
}

TEST_F(WatchedRun, ItsNodeMayFailAndAnotherOneTakesOver) {
  WatchdogStep step(system_, run_);
  const std::string began = folder_.path() + "/began";
  srun(": > '" + began + "'; exit 1");  // one line: the file changes below
  const auto now = Clock::now();
  step.keep(now);
  const pid_t first = step.pid();
  ASSERT_TRUE(within_a_minute([&] { return std::filesystem::exists(began); }));
  system_.answers["scontrol show job 17"] = {
      0, "JobId=17 JobName=a\n   JobState=RUNNING\n   Restarts=0\n   NodeList=n[1-2]\n", ""};
  srun("echo \"$*\"; exec sleep 300");
  step.keep(now + 5s);
  EXPECT_EQ(step.pid(), first) << "not at once";
  EXPECT_TRUE(within_a_minute([&] {
    step.keep(now + 11s);
    return step.pid() != first;
  }));
  EXPECT_TRUE(within_a_minute([&] { return !log().empty(); }));
  EXPECT_THAT(log(), HasSubstr("--nodelist=n2 "));
  EXPECT_THAT(system_.logged, HasSubstr("the job's watcher exited with code 1 (watcher.log)"));
}

TEST_F(WatchedRun, WithoutSpareNodesThereIsNone) {
  run_.recovery.plan.spare_nodes = 0;
  WatchdogStep step(system_, run_);
  step.keep(Clock::now());
  EXPECT_EQ(step.pid(), 0);
  EXPECT_TRUE(system_.ran.empty()) << "and Slurm is not asked";
}

TEST_F(WatchedRun, NorWhereNoOtherNodeIsLeft) {
  system_.answers["scontrol show job 17"] = {
      0, "JobId=17 JobName=a\n   JobState=RUNNING\n   Restarts=0\n   NodeList=n1\n", ""};
  WatchdogStep step(system_, run_);
  step.keep(Clock::now());
  EXPECT_EQ(step.pid(), 0);
}

}  // namespace
}  // namespace dllaunch
