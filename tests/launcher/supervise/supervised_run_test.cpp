#include "launcher/supervise/supervised_run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "launcher/run/journal.hpp"
#include "launcher/supervise/hold/retry_order.hpp"
#include "tests/launcher/disk_system.hpp"
#include "tests/support/fake_system.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;
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

/// They could be another user's, and the ranks what that user orders.
TEST(SupervisedRun, TakesNoOrdersWhereOthersCanReplaceTheRun) {
  const TemporaryFolder folder;
  const TemporaryFolder copies;
  const RunDir dir{.path = folder.path() + "/run"};
  fs::create_directory(dir.path);
  DiskSystem system;
  system.programs = {"srun"};
  std::ofstream(dir.plan_json()) << R"({"name": "a", "launcher": "slurm", "nodes": 3, "retry": 4,
      "node_book": "/home/alice/.bashrc", "recovery": {"hold_seconds": 60}})";
  ASSERT_TRUE(end_hold(dir, 4, {.program = {"ordered"}, .files = {{"job.yaml", "name: a\n"}}}));
  const auto read = [&](const std::string& files) {
    return *read_supervised_run(
        system, dir.path, {"srun", "dllaunch", "exec", "--run-dir", "x", "--", "planned"}, files);
  };
  auto run = read("");
  EXPECT_EQ(run.start.program, std::vector<std::string>{"ordered"});
  EXPECT_EQ(run.recovery.plan.hold_seconds, 60);
  EXPECT_FALSE(run.guarded);
  run = read(copies.path());
  EXPECT_EQ(run.start.program, std::vector<std::string>{"planned"});
  EXPECT_EQ(run.recovery.plan.hold_seconds, 0);
  EXPECT_EQ(run.node_book, "");
  EXPECT_EQ(run.nodes, 3u);
  EXPECT_TRUE(run.guarded);
  EXPECT_THAT(system.logged, HasSubstr("the plan is taken from " + dir.path))
      << "a home that is not there on the nodes ends no run";
  std::ofstream(copies.path() + "/plan.json")
      << R"({"name": "a", "launcher": "slurm", "nodes": 2})";
  EXPECT_EQ(read(copies.path()).nodes, 2u) << "the user's own plan";
}

TEST(SupervisedRun, KnowsWhichNodesItsRequeuesLeftOut) {
  const TemporaryFolder folder;
  SupervisedRun run{.dir = {.path = folder.path()}, .nodes = 4, .excluded = "n9"};
  run.recovery.plan.min_nodes = 3;
  run.allocation.job = "17";
  for (const auto& [job, nodes] :
       {std::pair("16", "n1"), {"17", "n[2-3]"}, {"17", ""}, {"17", "n4"}})
    ASSERT_TRUE(append_to_journal(
        run.dir,
        line_of({.time = 1, .job = job, .next = Next::requeue, .exclude = nodes}, std::nullopt)));
  const auto wanted = exclusion_of(run, "n5");
  EXPECT_EQ(wanted.fresh, "n5");
  EXPECT_EQ(wanted.earlier, (std::vector<std::string>{"n[2-3]", "n4"}));
  EXPECT_EQ(wanted.by_user, "n9");
  EXPECT_EQ(wanted.chain, 2u) << "no ranks have started since";
  EXPECT_EQ(wanted.needed, run.fewest_nodes());
  EXPECT_TRUE(exclusion_of(run, "").earlier.empty());
  ASSERT_TRUE(append_to_journal(run.dir, line_of(JournalAttempt{.time = 2, .job = "17"})));
  ASSERT_TRUE(append_to_journal(
      run.dir,
      line_of({.time = 3, .job = "17", .next = Next::requeue, .exclude = "n6"}, std::nullopt)));
  EXPECT_EQ(exclusion_of(run, "n7").chain, 1u);
  EXPECT_EQ(exclusion_of(run, "n7").earlier.size(), 3u);
}

/// Of a modular job the owner of the components requeues the whole.
TEST(SupervisedRun, AComponentsRequeuesAreBoundedToo) {
  const TemporaryFolder folder;
  StoredRun run;
  run.dir.path = folder.path();
  run.plan.nodes = 4;
  run.plan.sbatch = {{"--exclude", "n9"}};
  ASSERT_TRUE(append_to_journal(
      run.dir,
      line_of({.time = 1, .job = "13", .next = Next::requeue, .exclude = "n2"}, std::nullopt)));
  const auto wanted = exclusion_of(run, "13", "n5");
  EXPECT_EQ(wanted.earlier, std::vector<std::string>{"n2"});
  EXPECT_EQ(wanted.chain, 1u);
  EXPECT_EQ(wanted.by_user, "n9");
  EXPECT_EQ(wanted.needed, 4u);
  run.plan.recovery.min_nodes = 3;
  EXPECT_EQ(exclusion_of(run, "13", "n5").needed, 3u);
}

}  // namespace
}  // namespace dllaunch
