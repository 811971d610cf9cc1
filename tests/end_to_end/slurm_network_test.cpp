// Ranks numbered along the network, on a real Slurm of four nodes below two switches.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <regex>
#include <sstream>

#include "support/json.hpp"
#include "tests/end_to_end/launched.hpp"
#include "tests/end_to_end/test_cluster.hpp"
#include "tests/support/tier.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::HasSubstr;

const std::string source = DLLAUNCH_SOURCE_DIR;
const std::string examples = source + "/examples";

class SlurmNetwork : public OnTestCluster {
 protected:
  static void SetUpTestSuite() {
    start_cluster({"--nodes", "4", "--cpus", "8", "--task-plugin", "none", "--share", source,
                   "--topology", "SwitchName=left Nodes=n[1,3]", "--topology",
                   "SwitchName=right Nodes=n[2,4]", "--topology",
                   "SwitchName=top Switches=left,right"});
  }

  /// The lines of all ranks in the order of ranks.
  Ended run(const std::string& job, const std::string& name, const std::string& order,
            std::vector<std::string> more = {}) {
    std::vector<std::string> argv = {"run",       job,
                                     "--run-dir", work_->path() + "/" + name,
                                     "--set",     "binding.network_order=" + order};
    argv.insert(argv.end(), more.begin(), more.end());
    work_->start(argv);
    auto ended = work_->wait(400s);
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    return ended;
  }
  /// What rank `rank` wrote.
  std::string output_of(const std::string& name, int rank) const {
    const auto prefix = fmt::format("rank-{:04}-", rank);
    for (const auto& file : fs::directory_iterator(work_->path() + "/" + name + "/out")) {
      if (!file.path().filename().string().starts_with(prefix)) continue;
      std::ifstream in(file.path());
      return {std::istreambuf_iterator<char>(in), {}};
    }
    return "";
  }
};

// What a program may compute its rank, or rank 0's host, from.
TEST_F(SlurmNetwork, EveryVariableFollowsTheOrder) {
  const auto job = work_->file("job.yaml",
                               "name: order\n"
                               "resources: {nodes: 4, ranks_per_node: 2, device: cpu, time: 5}\n"
                               "framework: pytorch\n"
                               "run: |\n"
                               "  echo \"$RANK $SLURM_PROCID $NODE_RANK $SLURM_NODEID "
                               "$GROUP_RANK $LOCAL_RANK $SLURM_LOCALID $(hostname) $MASTER_ADDR "
                               "$(scontrol show hostnames $SLURM_STEP_NODELIST | xargs)\"\n");
  run(job, "auto", "auto");
  const std::vector<std::string> order = {"n1", "n3", "n2", "n4"};
  for (int rank = 0; rank < 8; ++rank)
    EXPECT_EQ(output_of("auto", rank),
              fmt::format("{0} {0} {1} {1} {1} {2} {2} {3} n1 n1 n3 n2 n4\n", rank, rank / 2,
                          rank % 2, order[static_cast<std::size_t>(rank / 2)]));
  work_->start({"report", work_->path() + "/auto"});
  EXPECT_THAT(work_->wait().out, HasSubstr("2 of 4 ring edges leave leaf switches (4 in Slurm's"));

  run(job, "slurm", "slurm");
  EXPECT_THAT(output_of("slurm", 2), HasSubstr("2 2 1 1 1 0 0 n2 n1 n1 n2 n3 n4"));
}

// Others compute from it where a rank of the component runs.
TEST_F(SlurmNetwork, HostsOfAComponentAreInTheOrderOfItsRanks) {
  const auto job = work_->file("job.yaml",
                               "name: both\n"
                               "resources: {device: cpu, ranks_per_node: 1, time: 5}\n"
                               "components:\n"
                               "  - {name: loader, run: 'true'}\n"
                               "  - {name: trainer, resources: {nodes: 3},\n"
                               "     run: 'echo \"$RANK $(hostname) "
                               "$DLLAUNCH_COMPONENT_TRAINER_HOSTS\"'}\n");
  work_->start({"run", job, "--run-dir", work_->path() + "/both"});
  const auto ended = work_->wait(200s);
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  for (const char* line : {"0 n2 n2,n4,n3\n", "1 n4 n2,n4,n3\n", "2 n3 n2,n4,n3\n"})
    EXPECT_THAT(ended.err, HasSubstr(line));
}

// PMIx numbers its ranks as srun does: they follow too.
TEST_F(SlurmNetwork, MpiProgramsFollowIt) {
  const auto built =
      cluster_->on_head({"mpicc", "-O1", "-o", work_->path() + "/sum", examples + "/mpi/sum.c"});
  if (!fs::exists(work_->path() + "/sum")) GTEST_SKIP() << "no mpicc: " << built;
  run(examples + "/mpi/job.yaml", "mpi", "auto",
      {"--set", "resources.nodes=4", "--set", "run=[" + work_->path() + "/sum]"});
  EXPECT_THAT(output_of("mpi", 2), HasSubstr("rank 2 of 8 on n3: sum of ranks 28"));
  EXPECT_THAT(output_of("mpi", 4), HasSubstr("rank 4 of 8 on n2: sum of ranks 28"));
}

// Open MPI's own start, as where srun has no PMIx.
TEST_F(SlurmNetwork, MpirunFollowsIt) {
  const auto run_dir = work_->path() + "/by-mpirun";
  fs::create_directories(run_dir + "/out");
  std::ofstream(run_dir + "/plan.json")
      << R"({"name": "m", "launcher": "slurm", "nodes": 4, "ranks_per_node": 2,
             "network_order": "auto"})";
  const std::string dllaunch = std::string(DLLAUNCH_BIN_DIR) + "/dllaunch";
  const auto script = work_->file(
      "job.sh",
      "#!/bin/bash\n#SBATCH -N4 --ntasks-per-node=2\n"
      "export SLURM_CPU_BIND=none OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1\n"
      "exec '" +
          dllaunch + "' supervise --run-dir '" + run_dir +
          "' -- mpirun --np 8 --map-by ppr:2:node --bind-to none -- '" + dllaunch +
          "' exec --run-dir '" + run_dir +
          "' -- bash -c 'echo $RANK $OMPI_COMM_WORLD_RANK $NODE_RANK $(hostname)'\n");
  const auto said = cluster_->on_head({"sbatch", "--wait", "-o", work_->path() + "/log", script});
  EXPECT_THAT(output_of("by-mpirun", 2), HasSubstr("2 2 1 n3\n")) << said << work_->text_of("log");
  EXPECT_THAT(output_of("by-mpirun", 7), HasSubstr("7 7 3 n4\n"));
}

TEST_F(SlurmNetwork, MoreNodesThanALeafHasAreAWarning) {
  const auto job = work_->file("wide.yaml",
                               "name: wide\n"
                               "resources: {nodes: 4, ranks_per_node: 1, device: cpu, time: 5,\n"
                               "  switches: {count: 1, wait: '0:02'}}\nrun: hostname\n");
  const auto checked = work_->run({"plan", job, "--check"});
  EXPECT_EQ(checked.exit_code, 0) << checked.err;
  EXPECT_THAT(checked.out, HasSubstr("no nodes are on so few leaf switches"));
}

double last_loss(const std::string& run_dir) {
  const auto steps = events_of(run_dir, "step");
  return steps.empty() ? -1 : steps.back().value("loss", -1.0);
}

// Gradients are summed by leaf, in another order.
TEST_F(SlurmNetwork, TheTrainerLearnsTheSame) {
  const auto job = work_->file(
      "train.yaml",
      "name: train\nresources: {nodes: 4, ranks_per_node: 1, device: cpu, time: 5}\n"
      "train: {model: lenet, batch_size: 8, max_steps: 3, dataset: {kind: synthetic, images: 128, "
      "classes: 10, channels: 1, image_size: 28}}\n");
  run(job, "auto", "auto");
  run(job, "slurm", "slurm");
  EXPECT_NEAR(last_loss(work_->path() + "/auto"), last_loss(work_->path() + "/slurm"), 1e-4);
  EXPECT_GT(last_loss(work_->path() + "/auto"), 0);
}

// The spare node takes the lost one's place as far as the network allows, and rank 0 stays.
TEST_F(SlurmNetwork, ASpareNodeJoinsTheOrder) {
  if (!full_tier()) GTEST_SKIP() << "loses a node: scripts/test --full";
  const auto job = work_->file(
      "spare.yaml",
      "name: spare\nresources: {nodes: 3, ranks_per_node: 1, device: cpu, time: 5}\n"
      "recovery: {spare_nodes: 1, max_restarts: 3}\n"
      "train: {model: lenet, backend: reference, batch_size: 8, dataset: {kind: synthetic, "
      "images: 1920, classes: 10, channels: 1, image_size: 28}}\n");
  const auto run_dir = work_->path() + "/run";
  work_->start({"run", job, "--run-dir", run_dir,
                "--set=train.epochs=" + std::to_string(epochs_of_seconds())});
  ASSERT_TRUE(happens_within(60s, [&] { return events_of(run_dir, "step").size() > 2; }));
  EXPECT_EQ(work_->text_of("run/rank-hosts"), "n1\nn3\nn2\n");
  ASSERT_TRUE(cluster_->tell("kill-node", {"n3"}));
  cluster_->on_head({"scontrol", "update", "nodename=n3", "state=down", "reason=test"});
  EXPECT_TRUE(happens_within(
      90s, [&] { return work_->text_of("run/rank-hosts").find("n4") != std::string::npos; }));
  EXPECT_EQ(work_->wait(120s).exit_code, 0);
  EXPECT_THAT(work_->text_of("run/rank-hosts"), testing::AnyOf("n1\nn4\nn2\n", "n1\nn2\nn4\n"));
  EXPECT_TRUE(cluster_->tell("revive-node", {"n3"}));
}

struct Example {
  std::string name;
  std::string script;
  std::string python;  // of the venv in build/frameworks; empty: the system's
};

class EveryFramework : public SlurmNetwork, public testing::WithParamInterface<Example> {};
INSTANTIATE_TEST_SUITE_P(Examples, EveryFramework,
                         testing::Values(Example{"pytorch-ddp", "train.py", ""},
                                         Example{"jax", "psum.py", "jax"},
                                         Example{"tensorflow", "step.py", "tensorflow"},
                                         Example{"horovod", "train.py", "horovod"},
                                         Example{"deepspeed", "train.py", "deepspeed"}),
                         [](const auto& test) {
                           auto name = test.param.name;
                           std::erase(name, '-');
                           return name;
                         });

// Rank for rank the same results, on other hosts.
TEST_P(EveryFramework, GivesTheSameResultInBothOrders) {
  if (!full_tier()) GTEST_SKIP() << "needs minutes: scripts/test --full";
  const auto& example = GetParam();
  const auto venv = source + "/build/frameworks/" + example.python;
  if (!example.python.empty() && !fs::exists(venv + "/complete"))
    GTEST_SKIP() << "scripts/framework-venvs build/frameworks " << example.python;
  const auto python = example.python.empty() ? "/usr/bin/python3" : venv + "/bin/python";
  std::vector<std::string> more = {
      "--set", "resources.nodes=4",
      "--set", "resources.ranks_per_node=1",
      "--set", fmt::format("run=[{}, {}/{}/{}]", python, examples, example.name, example.script)};
  if (!example.python.empty()) {
    more.insert(more.end(), {"--set", "environment.activate=" + venv});
    work_->environment.emplace_back("TORCH_EXTENSIONS_DIR", venv + "/extensions");
  }
  for (const char* order : {"auto", "slurm"})
    run(examples + "/" + example.name + "/job.yaml", order, order, more);
  const std::regex elsewhere(
      "I0000[^\\n]*\\n| on n[0-9]|[0-9.]+ (s|ms|samples/s|images/s)\\b|[0-9]{4}-[0-9]{2}-.*");
  for (int rank = 0; rank < 4; ++rank)
    EXPECT_EQ(std::regex_replace(output_of("auto", rank), elsewhere, ""),
              std::regex_replace(output_of("slurm", rank), elsewhere, ""));
  const auto moved = [&](const std::string& name) {
    return fs::exists(work_->path() + "/" + name + "/out/rank-0001-n3.log");
  };
  EXPECT_TRUE(moved("auto"));
  EXPECT_FALSE(moved("slurm"));
}

}  // namespace
}  // namespace dllaunch
