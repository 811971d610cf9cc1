// The network that a real Slurm schedules by: topology/tree, and topology/block where it has it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>

#include "support/json.hpp"
#include "tests/end_to_end/test_cluster.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;

constexpr const char* job_text = R"yaml(name: net
resources: {nodes: 3, ranks_per_node: 1, device: cpu, time: 2}
run: "true"
)yaml";

class SlurmFabric : public testing::Test {
 protected:
  void start(const std::vector<std::string>& topology) {
    std::vector<std::string> options = {"--nodes", "4"};
    for (const auto& line : topology) options.insert(options.end(), {"--topology", line});
    cluster_ = std::make_unique<TestCluster>(options);
    if (cluster_->cannot_run_here()) GTEST_SKIP() << cluster_->why_not();
    ASSERT_EQ(cluster_->why_not(), "");
    work_ = std::make_unique<Workplace>(cluster_->share());
    work_->before = cluster_->login();
    work_->before.insert(work_->before.end(), {"env", "-C", cluster_->share()});
    work_->environment = {{"TERM", "dumb"}, {"XDG_CACHE_HOME", cluster_->share() + "/cache"}};
    work_->file("job.yaml", job_text);
  }

  Json network(const std::vector<std::string>& more) {
    std::vector<std::string> argv = {"topo", "--network", "--nodes", "n[1-4]", "--json"};
    argv.insert(argv.end(), more.begin(), more.end());
    const auto ended = work_->run(argv);
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    return ended.exit_code == 0 ? Json::parse(ended.out) : Json();
  }
  Ended plan(const std::string& resources) {
    return work_->run({"plan", "job.yaml", "--check", "--set", resources});
  }

  std::unique_ptr<TestCluster> cluster_;
  std::unique_ptr<Workplace> work_;
};

TEST_F(SlurmFabric, ATreeOfSwitches) {
  start({"SwitchName=s0 Nodes=n[1,3]", "SwitchName=s1 Nodes=n[2,4]",
         "SwitchName=s2 Switches=s[0-1]"});
  if (IsSkipped() || HasFatalFailure()) return;
  const auto all = network({});
  EXPECT_EQ(all["kind"], Json("tree"));
  EXPECT_EQ(all["order"], Json::parse(R"(["n1", "n3", "n2", "n4"])"));
  EXPECT_EQ(all["crossings"], Json::parse(R"({"given": 4, "alphabetical": 4, "ordered": 2})"));
  EXPECT_EQ(all["warnings"], Json::array());

  // What Slurm tells each node says the same.
  const auto addresses =
      cluster_->on_head({"srun", "--nodes=4", "--ntasks=4", "sh", "-c",
                         "echo SLURM_TOPOLOGY_ADDR=$SLURM_TOPOLOGY_ADDR; "
                         "echo SLURM_TOPOLOGY_ADDR_PATTERN=$SLURM_TOPOLOGY_ADDR_PATTERN"});
  work_->file("addresses.txt", addresses);
  const auto ended = work_->run({"topo", "--network", "addresses.txt", "--json"});
  ASSERT_EQ(ended.exit_code, 0) << ended.err << addresses;
  EXPECT_EQ(Json::parse(ended.out)["order"], all["order"]);

  const auto wide = plan("resources.switches=1");
  EXPECT_THAT(wide.out + wide.err, HasSubstr("--switches=1"));
  EXPECT_THAT(wide.out + wide.err, HasSubstr("cannot hold 3 nodes"));
  const auto fits = plan("resources.switches={count: 2, wait: 10m}");
  EXPECT_EQ(fits.exit_code, 0) << fits.out << fits.err;
  EXPECT_THAT(fits.out, HasSubstr("--switches=2@00:10:00"));
  const auto spread = plan("resources.spread=true");
  EXPECT_EQ(spread.exit_code, 0) << spread.out << spread.err;
  EXPECT_THAT(spread.out, HasSubstr("--spread-job"));
}

TEST_F(SlurmFabric, Blocks) {
  if (std::system(
          "test $(slurmd -V | sed 's/[^ ]* \\([0-9]*\\).\\([0-9]*\\).*/\\1\\2/') -ge 2405") != 0)
    GTEST_SKIP() << "this Slurm has no --segment";
  start({"BlockName=b1 Nodes=n[1,3]", "BlockName=b2 Nodes=n[2,4]", "BlockSizes=2,4"});
  if (IsSkipped() || HasFatalFailure()) return;
  const auto all = network({});
  EXPECT_EQ(all["kind"], Json("block"));
  EXPECT_EQ(all["order"], Json::parse(R"(["n1", "n3", "n2", "n4"])"));
  const auto uneven = plan("resources.nodes=4");
  EXPECT_THAT(uneven.out + uneven.err, HasSubstr("resources.segment: 2"));
  const auto even = work_->run({"plan", "job.yaml", "--check", "--set", "resources.nodes=4",
                                "--set", "resources.segment=2"});
  EXPECT_EQ(even.exit_code, 0) << even.out << even.err;
  EXPECT_THAT(even.out, HasSubstr("--segment=2"));
  const auto wide = work_->run({"plan", "job.yaml", "--check", "--set", "resources.nodes=4",
                                "--set", "resources.segment=4"});
  EXPECT_THAT(wide.out + wide.err, HasSubstr("is more than the 2 nodes of a block"));
}

}  // namespace
}  // namespace dllaunch
