#include "launcher/plan/node_selection.hpp"

#include <gmock/gmock.h>

#include "tests/launcher/sample_plans.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;

std::string problem(const Resources& resources, bool wants_gpus = true) {
  const auto selection = select_nodes(resources, *mixed_cluster().slurm, wants_gpus);
  return selection ? "none" : selection.error().what + " (" + selection.error().hint + ")";
}

NodeSelection chosen(const Resources& resources, bool wants_gpus = true) {
  auto selection = select_nodes(resources, *mixed_cluster().slurm, wants_gpus);
  EXPECT_TRUE(selection) << selection.error().what;
  return selection ? *selection : NodeSelection{};
}

TEST(NodeSelection, TakesTheDefaultPartitionAndTheMostGpusEnoughNodesHave) {
  EXPECT_EQ(chosen({.nodes = 1}).shape.gpus, 4);
  EXPECT_EQ(chosen({.nodes = 1}).where, "nodes of partition batch");
  EXPECT_EQ(chosen({.nodes = 4}).shape.gpus, 0) << "only three have GPUs, two do not";
  EXPECT_EQ(chosen({.nodes = 1, .partition = "gpu"}).shape.gpus, 8);
  EXPECT_EQ(chosen({.nodes = 2, .partition = "gpu"}).shape.gpus, 4);
}

TEST(NodeSelection, WithoutGpusPlansForTheSmallestNode) {
  const auto selection = chosen({.nodes = 1}, /*wants_gpus=*/false);
  EXPECT_EQ(selection.shape.cpus, 8);
  EXPECT_FALSE(selection.uniform);
  EXPECT_THAT(selection.warnings, testing::Contains(HasSubstr("differ")));
}

TEST(NodeSelection, AConstraintOrAnExclusionCanMakeTheChoiceUniform) {
  EXPECT_TRUE(chosen({.nodes = 1, .partition = "gpu", .constraint = "h100"}).uniform);
  EXPECT_TRUE(chosen({.nodes = 3, .partition = "gpu", .exclude = "h1"}).uniform);
  EXPECT_FALSE(chosen({.nodes = 2, .partition = "gpu", .constraint = "a100|h100"}).uniform)
      << "an expression is Slurm's to judge";
  EXPECT_EQ(chosen({.nodes = 1, .partition = "gpu", .constraint = "a100&ib"}).shape.gpus, 4);
  EXPECT_THAT(problem({.nodes = 1, .partition = "gpu", .constraint = "h100&ib"}),
              HasSubstr("partition gpu has 0 that resources.constraint"))
      << "both of them on one node";
}

TEST(NodeSelection, LeavesOutNodesWithTooLittleMemory) {
  const auto memory = [](const char* amount) {
    return JobMemory{.per = MemoryPer::rank, .amount = amount};
  };
  EXPECT_EQ(chosen({.ranks_per_node = 4, .memory = memory("4G")}, false).shape.cpus, 64)
      << "the small ones have 15.6 GiB";
  EXPECT_EQ(chosen({.ranks_per_node = 4, .memory = memory("3G")}, false).shape.cpus, 8);
  EXPECT_EQ(problem({.nodes = 4, .ranks_per_node = 4, .memory = memory("4G")}),
            "asked for 4G of memory for each of 4 ranks on a node, 16 GiB together, nodes of "
            "partition batch have 15.62 GiB (use --set resources.memory.per_rank=3GB, or name "
            "another resources.partition)");
}

TEST(NodeSelection, SaysWhatToAskForInstead) {
  EXPECT_EQ(problem({.nodes = 6}),
            "asked for 6 nodes, partition batch has 5 (use --set resources.nodes=5)");
  EXPECT_EQ(problem({.nodes = 2, .gpus_per_node = 8, .partition = "gpu"}),
            "asked for 2 nodes with 8 GPUs, partition gpu has 1 (use --set resources.nodes=1)");
  EXPECT_EQ(problem({.nodes = 4, .partition = "gpu", .exclude = "h1"}),
            "asked for 4 nodes, partition gpu has 3 that resources.constraint and "
            "resources.exclude leave (use --set resources.nodes=3)");
  EXPECT_EQ(problem({.partition = "gpo"}), "no partition 'gpo' on cluster 'cluster' (use gpu)");
  EXPECT_EQ(problem({.partition = "zzzzzz"}),
            "no partition 'zzzzzz' on cluster 'cluster' (use one of: batch gpu closed)");
  EXPECT_EQ(problem({.time = "02:00:00", .partition = "gpu"}),
            "asked for 02:00:00, the limit of partition gpu is 90 minutes (use --set "
            "resources.time=1:30:00)");
  EXPECT_EQ(problem({.time = "1:30:00", .partition = "gpu"}), "none");
  EXPECT_THAT(problem({.time = "soon"}), HasSubstr("'soon' is not a duration"));
  EXPECT_THAT(problem({.exclude = "n[1-"}), HasSubstr("resources.exclude: host list"));
  EXPECT_EQ(problem({.exclude = "/etc/hosts"}), "none") << "a file is Slurm's to read";
}

TEST(NodeSelection, APartitionThatIsClosedIsAWarning) {
  EXPECT_THAT(chosen({.partition = "closed"}).warnings,
              testing::Contains(HasSubstr("closed does not accept or start jobs")));
}

TEST(NodeSelection, SeveralPartitionsAreOneChoice) {
  EXPECT_EQ(chosen({.nodes = 1, .partition = "gpu,closed"}).where,
            "nodes of partitions gpu,closed");
}

TEST(NodeSelection, WithoutADefaultPartitionOverThoseThatFit) {
  auto slurm = *mixed_cluster().slurm;
  slurm.partitions[0].is_default = false;
  const auto selection = select_nodes({.nodes = 2, .time = "2:00:00"}, slurm, true);
  ASSERT_TRUE(selection) << selection.error().what;
  EXPECT_EQ(selection->where, "nodes of partition batch") << "gpu's limit is lower, closed is down";
  EXPECT_THAT(selection->warnings.front(),
              HasSubstr("no default partition: this plan is for nodes of "
                        "partition batch; set resources.partition"));
  const auto none = select_nodes({.nodes = 99}, slurm, true);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().what, "this cluster has no default partition");
  EXPECT_EQ(none.error().hint, "set resources.partition: batch or gpu or closed");
}

TEST(NodeSelection, OfSeveralPartitionsThoseWithTime) {
  EXPECT_EQ(chosen({.time = "2:00:00", .partition = "gpu,batch"}).where,
            "nodes of partition batch");
  EXPECT_EQ(problem({.time = "2:00:00", .partition = "gpu,gpu"}),
            "asked for 2:00:00, the limit of partition gpu is 90 minutes (use --set "
            "resources.time=1:30:00)");
}

TEST(NodeSelection, AQosMayLiftALimit) {
  EXPECT_THAT(chosen({.time = "2:00:00", .partition = "gpu", .qos = "long"}).warnings,
              testing::Contains("asked for 2:00:00, the limit of partition gpu is 90 minutes, "
                                "unless QOS long lifts it"));
}

SlurmFacts two_kinds() {
  auto slurm = *mixed_cluster().slurm;
  auto& node = slurm.partitions[1].node_types;
  node.pop_back();
  node[0].gpu_gres = {{"a100", 2}, {"v100", 2}};
  return slurm;
}

TEST(NodeSelection, ANamedTypeOfGpuAloneCounts) {
  const auto all = select_nodes({.partition = "gpu"}, two_kinds(), true);
  ASSERT_TRUE(all);
  EXPECT_EQ(all->shape.gpus, 4);
  EXPECT_THAT(all->warnings, testing::Contains(HasSubstr("counts 2 x a100, 2 x v100")));
  const auto named =
      select_nodes({.partition = "gpu", .sbatch_extra = {"--gres=gpu:v100:2"}}, two_kinds(), true);
  ASSERT_TRUE(named);
  EXPECT_EQ(named->shape.gpus, 2);
  EXPECT_EQ(named->shape.gpu_type, "v100");
  EXPECT_THAT(named->warnings, testing::Contains(HasSubstr("counts 2 x v100")));
  const auto h100 = select_nodes({.partition = "gpu", .sbatch_extra = {"--gpus-per-node=h100:8"}},
                                 *mixed_cluster().slurm, true);
  ASSERT_TRUE(h100);
  EXPECT_EQ(h100->shape.gpus, 8) << "the a100 nodes have none of these";
  EXPECT_TRUE(h100->uniform);
}

SlurmFacts any_cluster() {
  auto slurm = *mixed_cluster().slurm;
  slurm.cluster = "any";
  slurm.partitions = {slurm.partitions[1]};
  slurm.partitions[0].node_types.resize(1);
  slurm.any_cluster = true;
  return slurm;
}

TEST(NodeSelection, OnAnyClusterWhatTheJobNamesIsThereAndWhatWasNotCheckedIsSaid) {
  const Resources asked{.nodes = 5000,
                        .time = "100:00:00",
                        .partition = "gpu_p5,gpu_p6",
                        .account = "abc@v100",
                        .qos = "qos_gpu-t4",
                        .constraint = "v100-32g",
                        .exclude = "/a/file"};
  const auto nodes = select_nodes(asked, any_cluster(), true);
  ASSERT_TRUE(nodes) << nodes.error().what;
  EXPECT_EQ(nodes->where, "nodes of partition gpu_p5,gpu_p6");
  EXPECT_THAT(
      nodes->warnings,
      testing::ElementsAre("any stands for any Slurm cluster; not checked: partition "
                           "gpu_p5,gpu_p6, constraint v100-32g, account abc@v100, QOS "
                           "qos_gpu-t4, excluded nodes /a/file, time 100:00:00, 5000 nodes; the "
                           "ranks of a node share all its CPUs"));
}

TEST(NodeSelection, OnAnyClusterNodesHaveWhatTheJobAsksFor) {
  const auto shape = [](const Resources& asked) {
    const auto nodes = select_nodes(asked, any_cluster(), true);
    return nodes ? nodes->shape : NodeType{};
  };
  const int gpus = shape({}).gpus;
  EXPECT_EQ(shape({.gpus_per_node = 2}).gpus, gpus) << "as of any node, some may stay idle";
  EXPECT_EQ(shape({.gpus_per_node = 16}).gpus, 16);
  EXPECT_GE(shape({.ranks_per_node = 4, .cpus_per_rank = 72}).cpus, 288);
  const JobMemory much{.per = MemoryPer::node, .amount = "9T"};
  EXPECT_EQ(shape({.memory = much}).gpus, gpus) << "no amount of memory is too much";
}

}  // namespace
}  // namespace dllaunch
