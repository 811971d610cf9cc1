#include "launcher/supervise/supervised_run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/fake_system.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;

TEST(SupervisedRun, IsWhatThePlanSays) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() + "/plan.json")
      << R"({"name": "a", "launcher": "slurm", "nodes": 3, "ranks_per_node": 2,
             "network_order": "arrival", "signal": "B:USR1@60"})";
  FakeSystem system;
  system.programs = {"srun"};
  system.files[folder.path() + "/plan.json"] =
      R"({"name": "a", "launcher": "slurm", "nodes": 3, "ranks_per_node": 2,
          "network_order": "arrival", "signal": "B:USR1@60"})";
  const auto run = read_supervised_run(system, folder.path(), {"srun", "--nodes=3", "true"});
  ASSERT_TRUE(run) << run.error().what;
  EXPECT_EQ(run->nodes, 3u);
  EXPECT_EQ(run->ranks_per_node, 2);
  EXPECT_EQ(run->network_order, NodeNumbering::arrival);
  EXPECT_EQ(run->program, "/usr/bin/srun");
}

TEST(SupervisedRun, NeedsARunAndAStarter) {
  const TemporaryFolder folder;
  FakeSystem system;
  EXPECT_FALSE(read_supervised_run(system, folder.path(), {"srun"}));
  system.files[folder.path() + "/plan.json"] = "{}";
  std::ofstream(folder.path() + "/plan.json") << "{}";
  const auto run = read_supervised_run(system, folder.path(), {"srun"});
  ASSERT_FALSE(run);
  EXPECT_THAT(run.error().what, HasSubstr("srun is not installed"));
}

}  // namespace
}  // namespace dllaunch
