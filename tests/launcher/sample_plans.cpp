#include "tests/launcher/sample_plans.hpp"

#include <gtest/gtest.h>

#include "launcher/slurm/host_list.hpp"
#include "topology/node/synthetic.hpp"

namespace dllaunch {
namespace {

std::vector<std::string> hosts(const char* list) {
  return *expand_hosts(list);
}

/// GPU 0 and 1 hang off NUMA node 3, and so on: LUMI's user guide.
Topology lumi_node() {
  auto node =
      *synthetic_topology("packages:1 numa:4 l3:2 cores:8 threads:2 gpus:8 nics:4 memory:128");
  const int numa_of_pair[] = {3, 1, 0, 2};
  for (std::size_t g = 0; g < node.gpus.size(); ++g) {
    const int numa = numa_of_pair[g / 2];
    node.gpus[g].vendor = "amd";
    node.gpus[g].name = "AMD Instinct MI250X";
    node.gpus[g].numa = IdSet{numa};
    node.gpus[g].cpus = node.numa[static_cast<std::size_t>(numa)].cpus;
  }
  std::vector<Core> usable;
  for (const auto& core : node.cores) {
    if (core.opens_l3)
      node.allowed_cpus -= core.cpus;
    else
      usable.push_back(core);
  }
  node.cores = usable;
  node.source = "a node like LUMI-G's";
  return node;
}

}  // namespace

Job train_job() {
  Job job;
  job.name = "mnist";
  job.train = {{"model", "cnn"}, {"dataset", {{"kind", "fashion-mnist"}}}, {"batch_size", 32}};
  return job;
}

Job run_job() {
  Job job;
  job.name = "ddp";
  job.run_command = {"python3", "train.py", "--epochs", "3"};
  return job;
}

Job with_transport(Job job, const std::string& transport) {
  job.runtime = {{"transport", transport}};
  return job;
}

Facts small_cluster() {
  const NodeType node{.hosts = hosts("n[1-2]"), .cpus = 2, .cores_per_socket = 2};
  const Partition batch{
      .name = "batch", .is_default = true, .up = true, .max_minutes = {}, .node_types = {node}};
  return {.host = "head",
          .slurm = SlurmFacts{.version = "22.05.8",
                              .cluster = "cluster",
                              .mpi_types = {"pmix", "none", "cray_shasta", "pmi2", "pmix_v4"},
                              .partitions = {batch}},
          .why_no_slurm = {},
          .topology = {}};
}

Facts mixed_cluster() {
  auto facts = small_cluster();
  const NodeType thin{
      .hosts = hosts("n[1-2]"), .cpus = 8, .cores_per_socket = 8, .memory_mib = 16000};
  const NodeType a100{.hosts = hosts("g[1-3]"),
                      .cpus = 64,
                      .sockets = 2,
                      .cores_per_socket = 16,
                      .threads_per_core = 2,
                      .memory_mib = 256000,
                      .gpus = 4,
                      .gpu_type = "a100",
                      .features = {"a100", "ib"}};
  auto h100 = a100;
  h100.hosts = hosts("h1");
  h100.gpus = 8;
  h100.gpu_type = "h100";
  h100.features = {"h100"};
  facts.slurm->partitions = {{.name = "batch",
                              .is_default = true,
                              .up = true,
                              .max_minutes = {},
                              .node_types = {thin, a100}},
                             {.name = "gpu",
                              .is_default = false,
                              .up = true,
                              .max_minutes = 90,
                              .node_types = {a100, h100}},
                             {.name = "closed",
                              .is_default = false,
                              .up = false,
                              .max_minutes = {},
                              .node_types = {a100}}};
  return facts;
}

Facts lumi_like() {
  const NodeType node{.hosts = hosts("nid[005000-005127]"),
                      .cpus = 112,
                      .sockets = 1,
                      .cores_per_socket = 64,
                      .threads_per_core = 2,
                      .memory_mib = 491520,
                      .gpus = 8,
                      .gpu_type = "mi250",
                      .features = {"AMD_EPYC_7A53"}};
  const Partition standard{.name = "standard-g",
                           .is_default = true,
                           .up = true,
                           .max_minutes = 2 * 24 * 60,
                           .node_types = {node}};
  return {.host = "uan01",
          .slurm = SlurmFacts{.version = "24.11.5",
                              .cluster = "lumi",
                              .mpi_types = {"cray_shasta", "none", "pmi2"},
                              .mpi_default = "cray_shasta",
                              .partitions = {standard}},
          .why_no_slurm = {},
          .topology = lumi_node()};
}

Facts one_machine(const std::string& topology) {
  return {.host = "laptop",
          .slurm = {},
          .why_no_slurm = "sinfo is not installed",
          .topology = *synthetic_topology(topology)};
}

Paths sample_paths() {
  return {.dllaunch = "/opt/dllaunch/bin/dllaunch",
          .dltrain = "/opt/dllaunch/bin/dltrain",
          .run_dir = "/scratch/me/runs/job-20261120-200000-ab12",
          .work_dir = "/home/me/project"};
}

LaunchPlan planned(const Job& job, const Facts& facts, bool local) {
  auto made = plan(job, facts, sample_paths(), local);
  EXPECT_TRUE(made) << made.error().what;
  return made ? *made : LaunchPlan{};
}

std::string problem_of(const Job& job, const Facts& facts, bool local) {
  const auto made = plan(job, facts, sample_paths(), local);
  return made ? "none" : made.error().what + " (" + made.error().hint + ")";
}

}  // namespace dllaunch
