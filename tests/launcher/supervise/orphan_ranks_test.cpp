#include "launcher/supervise/orphan_ranks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "launcher/os/owned_process.hpp"
#include "tests/support/fake_system.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class OrphanRanks : public testing::Test {
 protected:
  Result<OwnedProcess> rank(const std::string& job, const std::string& step) const {
    return OwnedProcess::start({.program = "/bin/sleep",
                                .argv = {"sleep", "60"},
                                .environment = {{"DLLAUNCH_RUN_DIR", folder_.path()},
                                                {"SLURM_JOB_ID", job},
                                                {"SLURM_STEP_ID", step}},
                                .output_path = "/dev/null"});
  }
  static std::optional<int> end_of(OwnedProcess& process) {
    for (int i = 0; i < 6000 && !process.poll(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return process.poll();
  }

  TemporaryFolder folder_;
  RunDir run_{.path = folder_.path()};
  FakeSystem system_;
};

TEST_F(OrphanRanks, AreEndedWithTheirSteps) {
  auto first = rank("17", "3");
  auto second = rank("17", "3");
  auto third = rank("17", "4");
  ASSERT_TRUE(first && second && third);
  system_.answers["scancel --signal=KILL 17.3"] = {0, "", ""};
  system_.answers["scancel --signal=KILL 17.4"] = {1, "", "scancel: error: no such step\n"};
  EXPECT_THAT(steps_of_run(run_, {.job = "17"}), UnorderedElementsAre("17.3", "17.4"));
  end_orphan_ranks(system_, run_, {.job = "17"});
  EXPECT_EQ(system_.ran.size(), 2u);
  for (auto* process : {&*first, &*second, &*third}) EXPECT_EQ(end_of(*process), 128 + SIGKILL);
  EXPECT_THAT(system_.logged, HasSubstr("ended 3 processes of an earlier start that still ran"));
  EXPECT_THAT(system_.logged,
              HasSubstr("scancel --signal=KILL 17.4: scancel: error: no such step"));
}

TEST_F(OrphanRanks, OthersAreLeftAlone) {
  auto process = rank("18", "0");
  ASSERT_TRUE(process);
  EXPECT_THAT(steps_of_run(run_, {.job = "17"}), IsEmpty());
  end_orphan_ranks(system_, run_, {.job = "17"});
  end_orphan_ranks(system_, run_, {});
  end_orphan_ranks(system_, {.path = folder_.path() + "/other"}, {.job = "18"});
  EXPECT_THAT(system_.ran, IsEmpty());
  EXPECT_EQ(system_.logged, "");
  EXPECT_FALSE(process->poll());
}

/// Another process's environment variable is not put on a command line.
TEST_F(OrphanRanks, OnlyANumberIsAStep) {
  auto strange = rank("17", "3 --user=root");
  auto none = rank("17", "");
  ASSERT_TRUE(strange && none);
  EXPECT_THAT(steps_of_run(run_, {.job = "17"}), IsEmpty());
  end_orphan_ranks(system_, run_, {.job = "17"});
  EXPECT_THAT(system_.ran, IsEmpty());
  EXPECT_EQ(end_of(*strange), 128 + SIGKILL);
  EXPECT_EQ(end_of(*none), 128 + SIGKILL);
}

}  // namespace
}  // namespace dllaunch
