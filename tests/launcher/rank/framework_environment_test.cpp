#include "launcher/rank/framework_environment.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "launcher/rank/rank_shim.hpp"
#include "support/json.hpp"
#include "support/network/proof.hpp"

namespace dllaunch {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;
using Map = std::map<std::string, std::string>;

EnvLookup in(Map variables) {
  return [variables = std::move(variables)](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  };
}

/// Rank 5 of 8 on two nodes of four.
FrameworkContext context(std::string framework) {
  return {.framework = std::move(framework),
          .rank = {.rank = 5,
                   .world_size = 8,
                   .local_rank = 1,
                   .local_world_size = 4,
                   .node_rank = 1,
                   .nodes = 2,
                   .launcher = "slurm",
                   .mpi = true},
          .host = "n2",
          .start_name = "slurm-1.0-r0",
          .point = {.address = "n1", .port = 40001}};
}

Map set_for(const FrameworkContext& what, const Map& around = {}) {
  const auto all = framework_variables(what, in(around));
  return {all.begin(), all.end()};
}

const std::vector<std::string> every_framework = {"none", "pytorch",   "tensorflow", "horovod",
                                                  "jax",  "deepspeed", "mpi"};

TEST(FrameworkEnvironment, EveryFrameworkHasTheMeetingPoint) {
  for (const auto& name : every_framework) {
    const auto set = set_for(context(name));
    EXPECT_EQ(set.at("MASTER_ADDR"), "n1") << name;
    EXPECT_EQ(set.at("MASTER_PORT"), "40001") << name;
  }
  for (const char* name : {"none", "mpi"}) EXPECT_EQ(set_for(context(name)).size(), 2u) << name;
}

// With it a program proves nothing to `dllaunch exec`.
TEST(FrameworkEnvironment, EveryFrameworkHasASecretOfItsOwn) {
  for (const auto& name : every_framework) {
    auto secretive = context(name);
    secretive.point.secret = "the secret of this start";
    const auto set = set_for(secretive);
    EXPECT_EQ(set.at("DLLAUNCH_START_SECRET"), secret_of("the secret of this start", "program"));
  }
  EXPECT_THAT(contradicting_variables({"DLLAUNCH_START_SECRET"}, in({})),
              ElementsAre("DLLAUNCH_START_SECRET"));
}

TEST(FrameworkEnvironment, RanksThatDoNotMeetHaveNoMeetingPoint) {
  for (const auto& name : every_framework) {
    auto alone = context(name);
    alone.point = {};
    const auto set = set_for(alone);
    EXPECT_FALSE(set.contains("MASTER_ADDR")) << name;
    EXPECT_FALSE(set.contains("JAX_COORDINATOR_ADDRESS")) << name;
  }
}

// Lightning reads these four, or the marker, as "torchrun started me".
TEST(FrameworkEnvironment, TorchrunsMarksComeTogetherOrNotAtAll) {
  for (const auto& name : every_framework) {
    const auto set = set_for(context(name));
    const bool pytorch = name == "pytorch" || name == "deepspeed";
    for (const char* mark : {"GROUP_RANK", "GROUP_WORLD_SIZE", "ROLE_RANK", "ROLE_WORLD_SIZE",
                             "TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT"}) {
      EXPECT_EQ(set.contains(mark), pytorch) << name << " " << mark;
    }
  }
  const auto set = set_for(context("pytorch"), {{"SLURM_RESTART_COUNT", "3"}});
  EXPECT_EQ(set.at("GROUP_RANK"), "1");
  EXPECT_EQ(set.at("GROUP_WORLD_SIZE"), "2");
  EXPECT_EQ(set.at("TORCHELASTIC_RESTART_COUNT"), "3");
  auto uncounted = context("pytorch");
  uncounted.rank.node_rank = -1;
  uncounted.rank.nodes = 0;
  EXPECT_EQ(set_for(uncounted).size(), 2u) << "the node's number is not known: none of them";
}

// Else a `dllaunch exec` or a doctor inside would think that torchrun has started it.
TEST(FrameworkEnvironment, OurMarkIsNotReadAsTorchruns) {
  auto set = set_for(context("pytorch"));
  set.insert({{"RANK", "5"}, {"SLURM_PROCID", "0"}, {"SLURM_STEP_ID", "0"}, {"SLURM_NTASKS", "1"}});
  const auto inner = read_rank_env(in(set));
  ASSERT_TRUE(inner) << inner.error().what;
  EXPECT_EQ(inner->launcher, "slurm");
}

TEST(FrameworkEnvironment, DeepSpeedsOwn) {
  const auto set = set_for(context("deepspeed"));
  EXPECT_EQ(set.at("CROSS_RANK"), "1");
  EXPECT_EQ(set.at("CROSS_SIZE"), "2");
  EXPECT_EQ(set.at("LOCAL_SIZE"), "4");
}

TEST(FrameworkEnvironment, HorovodsOwn) {
  const auto set = set_for(context("horovod"));
  EXPECT_EQ(set, (Map{{"MASTER_ADDR", "n1"},
                      {"MASTER_PORT", "40001"},
                      {"HOROVOD_RANK", "5"},
                      {"HOROVOD_SIZE", "8"},
                      {"HOROVOD_LOCAL_RANK", "1"},
                      {"HOROVOD_LOCAL_SIZE", "4"},
                      {"HOROVOD_CROSS_RANK", "1"},
                      {"HOROVOD_CROSS_SIZE", "2"},
                      {"HOROVOD_HOSTNAME", "n2"},
                      {"HOROVOD_CONTROLLER", "mpi"}}));
  EXPECT_FALSE(
      set_for(context("horovod"), {{"HOROVOD_CONTROLLER", "gloo"}}).contains("HOROVOD_CONTROLLER"))
      << "the user's stays";
}

TEST(FrameworkEnvironment, HorovodWithoutMpiIsRefusedBeforeItHangs) {
  auto without = context("horovod");
  without.rank.mpi = false;
  const auto refused = check_framework(without, in({}));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().hint, testing::HasSubstr("srun --mpi=pmix"));
  EXPECT_TRUE(check_framework(without, in({{"HOROVOD_CONTROLLER", "gloo"}})));
  without.rank.world_size = 1;
  EXPECT_TRUE(check_framework(without, in({})));
}

TEST(FrameworkEnvironment, TensorFlowsConfigIsJson) {
  auto what = context("tensorflow");
  for (int i = 0; i < 8; ++i) what.workers.push_back("n1:" + std::to_string(5000 + i));
  const auto config = Json::parse(set_for(what).at("TF_CONFIG"), nullptr, false);
  ASSERT_TRUE(config.is_object());
  EXPECT_EQ(config["task"]["type"], "worker");
  EXPECT_EQ(config["task"]["index"], 5);
  EXPECT_EQ(config["cluster"]["worker"].size(), 8u);
  EXPECT_EQ(config["cluster"]["worker"][5], "n1:5005");
}

TEST(FrameworkEnvironment, JaxIsToldItsOwnDevices) {
  const auto ids = [](int gpus, int local, int ranks) {
    auto what = context("jax");
    what.rank.local_rank = local;
    what.rank.local_world_size = ranks;
    what.visible_gpus = gpus;
    const auto set = set_for(what);
    const auto found = set.find("JAX_LOCAL_DEVICE_IDS");
    return found == set.end() ? std::string("unset") : found->second;
  };
  EXPECT_EQ(ids(0, 1, 4), "unset");
  EXPECT_EQ(ids(4, 1, 4), "1");
  EXPECT_EQ(ids(4, 0, 1), "0,1,2,3") << "alone on its node: all of them";
  EXPECT_EQ(ids(8, 1, 4), "2,3");
  EXPECT_EQ(ids(1, 3, 4), "0") << "isolated by --gpus-per-task";
  EXPECT_EQ(set_for(context("jax")).at("JAX_COORDINATOR_ADDRESS"), "n1:40001");
  EXPECT_EQ(set_for(context("jax")).at("JAX_NUM_PROCESSES"), "8");
  EXPECT_EQ(set_for(context("jax")).at("JAX_PROCESS_ID"), "5");
}

TEST(FrameworkEnvironment, AnUnknownNameIsRefusedWithTheNearest) {
  const auto refused = check_framework(context("pytroch"), in({}));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::bad_request);
  EXPECT_EQ(refused.error().hint, "did you mean pytorch?");
  for (const auto& name : every_framework) EXPECT_TRUE(check_framework(context(name), in({})));
  EXPECT_TRUE(check_framework(context(""), in({}))) << "the built-in trainer";
}

// Whatever another framework's set has in it, so that no program finds two answers.
TEST(FrameworkEnvironment, WhatOneSetsIsRemovedBeforeTheNext) {
  for (const auto& before : every_framework) {
    auto what = context(before);
    what.workers = {"n1:1"};
    what.visible_gpus = 4;
    std::vector<std::string> names;
    for (const auto& [name, value] : set_for(what)) names.push_back(name);
    std::vector<std::string> stay;
    const auto gone = contradicting_variables(names, in({}));
    for (const auto& name : names) {
      if (std::find(gone.begin(), gone.end(), name) == gone.end()) stay.push_back(name);
    }
    // A setting rather than an identity.
    std::erase(stay, "HOROVOD_CONTROLLER");
    EXPECT_THAT(stay, IsEmpty()) << before;
  }
}

TEST(FrameworkEnvironment, SettingsOfTheUserStay) {
  EXPECT_THAT(contradicting_variables({"NCCL_DEBUG", "HOROVOD_FUSION_THRESHOLD",
                                       "TF_CPP_MIN_LOG_LEVEL", "JAX_PLATFORMS", "OMP_NUM_THREADS",
                                       "PMIX_RANK", "OMPI_MCA_btl", "SLURM_PROCID", "LOCALE"},
                                      in({})),
              IsEmpty());
  EXPECT_THAT(contradicting_variables({"HOROVOD_GLOO_RENDEZVOUS_ADDR"}, in({})),
              ElementsAre("HOROVOD_GLOO_RENDEZVOUS_ADDR"));
  EXPECT_THAT(contradicting_variables({"HOROVOD_GLOO_RENDEZVOUS_ADDR"},
                                      in({{"HOROVOD_CONTROLLER", "gloo"}})),
              IsEmpty());
}

TEST(FrameworkEnvironment, TheNearestLauncherIsTheOneThatStartedUs) {
  EXPECT_EQ(nearest_starter({"slurmstepd", "slurmd"}), RankStarter::slurm);
  EXPECT_EQ(nearest_starter({"bash", "slurmstepd"}), RankStarter::slurm);
  EXPECT_EQ(nearest_starter({"orted", "slurmstepd"}), RankStarter::mpirun);
  EXPECT_EQ(nearest_starter({"mpirun", "bash", "slurmstepd"}), RankStarter::mpirun);
  EXPECT_EQ(nearest_starter({"mpiexec.hydra"}), RankStarter::mpirun);
  EXPECT_EQ(nearest_starter({"python3", "slurmstepd"}), RankStarter::unknown) << "may be torchrun";
  EXPECT_EQ(nearest_starter({}), RankStarter::unknown);
}

// sbatch --export=ALL from a shell that mpirun or torchrun has started.
TEST(FrameworkEnvironment, WhatWasInheritedIsForgotten) {
  const std::vector<std::string> names = {"OMPI_COMM_WORLD_RANK", "OMPI_MCA_orte_hnp_uri",
                                          "OMPI_MCA_btl",         "PMIX_RANK",
                                          "TORCHELASTIC_RUN_ID",  "SLURM_PROCID"};
  const auto foreign = in({{"PMIX_NAMESPACE", "1234.1"}});
  EXPECT_THAT(inherited_variables(names, RankStarter::slurm, foreign),
              UnorderedElementsAre("OMPI_COMM_WORLD_RANK", "OMPI_MCA_orte_hnp_uri", "PMIX_RANK",
                                   "TORCHELASTIC_RUN_ID"));
  EXPECT_THAT(
      inherited_variables(names, RankStarter::slurm, in({{"PMIX_NAMESPACE", "slurm.pmix.1.0"}})),
      UnorderedElementsAre("OMPI_COMM_WORLD_RANK", "OMPI_MCA_orte_hnp_uri", "TORCHELASTIC_RUN_ID"));
  EXPECT_THAT(inherited_variables(names, RankStarter::mpirun, foreign),
              ElementsAre("TORCHELASTIC_RUN_ID"));
  EXPECT_THAT(inherited_variables(names, RankStarter::unknown, foreign), IsEmpty());
}

TEST(InheritedVariables, RanksOfSpawnHaveNoMpi) {
  const std::vector<std::string> names = {
      "OMPI_COMM_WORLD_RANK", "OMPI_MCA_btl",   "PMIX_RANK", "PMIX_MCA", "PMI_RANK", "PATH",
      "TORCHELASTIC_RUN_ID",  "DLLAUNCH_SPAWN", "RANK"};
  EXPECT_THAT(
      inherited_variables(names, RankStarter::spawn, in({})),
      UnorderedElementsAre("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "TORCHELASTIC_RUN_ID"));
  for (const auto inner : {RankStarter::slurm, RankStarter::mpirun})
    EXPECT_THAT(inherited_variables({"DLLAUNCH_SPAWN", "RANK"}, inner, in({})),
                ElementsAre("DLLAUNCH_SPAWN"));
}

}  // namespace
}  // namespace dllaunch
