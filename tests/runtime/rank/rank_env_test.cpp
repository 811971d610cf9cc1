#include "runtime/rank/rank_env.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace dllaunch {
namespace {

using Variables = std::map<std::string, std::string>;

/// The environment of a real process, as printed by `env`.
Variables captured(const std::string& name) {
  std::ifstream in(std::string(DLLAUNCH_SOURCE_DIR) + "/tests/runtime/rank/environments/" + name);
  EXPECT_TRUE(in) << name;
  Variables variables;
  for (std::string line; std::getline(in, line);) {
    variables[line.substr(0, line.find('='))] = line.substr(line.find('=') + 1);
  }
  return variables;
}

Result<RankEnv> read(const Variables& variables) {
  return read_rank_env([&](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  });
}

void expect(const Variables& variables, const RankEnv& wanted) {
  const auto env = read(variables);
  ASSERT_TRUE(env) << env.error().what;
  EXPECT_EQ(env->rank, wanted.rank);
  EXPECT_EQ(env->world_size, wanted.world_size);
  EXPECT_EQ(env->local_rank, wanted.local_rank);
  EXPECT_EQ(env->local_world_size, wanted.local_world_size);
  EXPECT_EQ(env->node_rank, wanted.node_rank);
  EXPECT_EQ(env->nodes, wanted.nodes);
  EXPECT_EQ(env->launcher, wanted.launcher);
  EXPECT_EQ(env->mpi, wanted.mpi);
}

std::string refusal(const Variables& variables) {
  const auto env = read(variables);
  if (env) return "";
  EXPECT_EQ(env.error().kind, ErrorKind::bad_request);
  return env.error().what;
}

const RankEnv alone;

TEST(RankEnv, TheProcessesOwnNames) {
  setenv("DLLAUNCH_RANK_ENV_TEST", "a=b", 1);
  const auto names = process_variables();
  EXPECT_EQ(std::count(names.begin(), names.end(), "DLLAUNCH_RANK_ENV_TEST"), 1);
  EXPECT_EQ(process_environment()("DLLAUNCH_RANK_ENV_TEST"), "a=b");
}

TEST(RankEnv, AloneWithoutALauncher) {
  expect({}, alone);
}

TEST(RankEnv, SrunWithPmix) {
  expect(captured("srun-pmix-rank-3-of-4.txt"), {.rank = 3,
                                                 .world_size = 4,
                                                 .local_rank = 1,
                                                 .local_world_size = 2,
                                                 .node_rank = 1,
                                                 .nodes = 2,
                                                 .launcher = "slurm",
                                                 .mpi = true});
}

TEST(RankEnv, SrunWithoutMpiHasPeersButNoMpi) {
  Variables variables = captured("srun-pmix-rank-3-of-4.txt");
  std::erase_if(variables, [](const auto& each) { return each.first.starts_with("PMIX_"); });
  const auto env = read(variables);
  ASSERT_TRUE(env);
  EXPECT_EQ(env->world_size, 4);
  EXPECT_FALSE(env->mpi);
  variables["PMI_FD"] = "12";  // --mpi=pmi2
  EXPECT_TRUE(read(variables)->mpi);
}

TEST(RankEnv, BatchScriptIsNotATask) {
  expect(captured("sbatch-batch-script.txt"), alone);
}

const RankEnv third_of_mpirun = {.rank = 2,
                                 .world_size = 3,
                                 .local_rank = 2,
                                 .local_world_size = 3,
                                 .node_rank = 0,
                                 .nodes = 1,
                                 .launcher = "openmpi",
                                 .mpi = true};

TEST(RankEnv, MpirunOnOneMachine) {
  expect(captured("mpirun-rank-2-of-3.txt"), third_of_mpirun);
}

TEST(RankEnv, MpirunInsideSlurmWins) {
  for (const std::string outer : {"sbatch-batch-script.txt", "srun-pmix-rank-3-of-4.txt"}) {
    Variables variables = captured("mpirun-rank-2-of-3.txt");
    variables.merge(captured(outer));
    expect(variables, third_of_mpirun);
  }
}

TEST(RankEnv, MpirunOnSeveralNodesDoesNotSayWhichNode) {
  Variables variables = captured("mpirun-rank-2-of-3.txt");
  variables["OMPI_COMM_WORLD_SIZE"] = "6";
  variables["OMPI_COMM_WORLD_RANK"] = "5";
  RankEnv wanted = third_of_mpirun;
  wanted.rank = 5;
  wanted.world_size = 6;
  wanted.node_rank = -1;
  wanted.nodes = 0;
  expect(variables, wanted);
}

TEST(RankEnv, Hydra) {  // MPICH and Intel MPI, from their documentation
  expect({{"PMI_RANK", "5"}, {"PMI_SIZE", "8"}, {"MPI_LOCALRANKID", "1"}, {"MPI_LOCALNRANKS", "4"}},
         {.rank = 5,
          .world_size = 8,
          .local_rank = 1,
          .local_world_size = 4,
          .node_rank = -1,
          .nodes = 0,
          .launcher = "pmi",
          .mpi = true});
}

TEST(RankEnv, Jsrun) {  // LSF's, from OLCF's documentation of Summit
  Variables variables = {{"JSM_NAMESPACE_RANK", "7"},
                         {"JSM_NAMESPACE_SIZE", "12"},
                         {"JSM_NAMESPACE_LOCAL_RANK", "1"},
                         {"JSM_NAMESPACE_LOCAL_SIZE", "6"},
                         {"PMIX_RANK", "7"}};
  const RankEnv wanted = {.rank = 7,
                          .world_size = 12,
                          .local_rank = 1,
                          .local_world_size = 6,
                          .node_rank = -1,
                          .nodes = 0,
                          .launcher = "jsrun",
                          .mpi = true};
  expect(variables, wanted);
  variables.erase("JSM_NAMESPACE_LOCAL_RANK");
  EXPECT_EQ(refusal(variables), "JSM_NAMESPACE_RANK is set, but not JSM_NAMESPACE_LOCAL_RANK");
}

TEST(RankEnv, PmixWithPmiSizes) {  // Cray PALS, from its documentation
  expect({{"PMIX_RANK", "1"},
          {"PMI_RANK", "1"},
          {"PMI_SIZE", "2"},
          {"PMI_LOCAL_RANK", "1"},
          {"PMI_LOCAL_SIZE", "2"}},
         {.rank = 1,
          .world_size = 2,
          .local_rank = 1,
          .local_world_size = 2,
          .node_rank = 0,
          .nodes = 1,
          .launcher = "pmix",
          .mpi = true});
}

TEST(RankEnv, Torchrun) {
  expect({{"RANK", "5"},
          {"WORLD_SIZE", "6"},
          {"LOCAL_RANK", "1"},
          {"LOCAL_WORLD_SIZE", "2"},
          {"GROUP_RANK", "2"},
          {"GROUP_WORLD_SIZE", "3"}},
         {.rank = 5,
          .world_size = 6,
          .local_rank = 1,
          .local_world_size = 2,
          .node_rank = 2,
          .nodes = 3,
          .launcher = "torchrun",
          .mpi = false});
  expect({{"RANK", "a user's own variable"}}, alone);
}

TEST(RankEnv, SpawnComesBeforeTheStepAroundIt) {
  Variables spawned = {{"DLLAUNCH_SPAWN", "4711"},  {"RANK", "1"},
                       {"WORLD_SIZE", "2"},         {"LOCAL_RANK", "1"},
                       {"LOCAL_WORLD_SIZE", "2"},   {"SLURM_PROCID", "0"},
                       {"SLURM_STEP_ID", "0"},      {"SLURM_STEP_NUM_TASKS", "1"},
                       {"PMIX_NAMESPACE", "slurm"}, {"TORCHELASTIC_RUN_ID", "dllaunch-x"}};
  const RankEnv ours{.rank = 1,
                     .world_size = 2,
                     .local_rank = 1,
                     .local_world_size = 2,
                     .node_rank = 0,
                     .nodes = 1,
                     .launcher = "dllaunch",
                     .mpi = false};
  expect(spawned, ours);
  spawned["OMPI_COMM_WORLD_RANK"] = "0";
  spawned["OMPI_COMM_WORLD_SIZE"] = "1";
  EXPECT_EQ(read(spawned)->launcher, "openmpi") << "an mpirun in a rank";
}

TEST(RankEnv, TorchrunInsideAnSrunStepIsTheInnerLauncher) {
  expect({{"TORCHELASTIC_RUN_ID", "none"},
          {"RANK", "3"},
          {"WORLD_SIZE", "4"},
          {"LOCAL_RANK", "1"},
          {"LOCAL_WORLD_SIZE", "2"},
          {"GROUP_RANK", "1"},
          {"GROUP_WORLD_SIZE", "2"},
          {"SLURM_PROCID", "1"},
          {"SLURM_STEP_ID", "0"},
          {"SLURM_STEP_NUM_TASKS", "2"},
          {"SLURM_LOCALID", "0"},
          {"SLURM_NODEID", "1"},
          {"PMIX_RANK", "1"}},
         {.rank = 3,
          .world_size = 4,
          .local_rank = 1,
          .local_world_size = 2,
          .node_rank = 1,
          .nodes = 2,
          .launcher = "torchrun",
          .mpi = false});
}

/// A Slurm task on node `node` of three, with these tasks per node.
Variables slurm_task(const std::string& tasks_per_node, int node) {
  return {{"SLURM_PROCID", "1"},
          {"SLURM_STEP_ID", "0"},
          {"SLURM_STEP_NUM_TASKS", "40"},
          {"SLURM_LOCALID", "0"},
          {"SLURM_NODEID", std::to_string(node)},
          {"SLURM_STEP_TASKS_PER_NODE", tasks_per_node}};
}

TEST(RankEnv, ReadsSlurmsTasksPerNode) {
  EXPECT_EQ(read(slurm_task("8(x4),3", 0))->local_world_size, 8);
  EXPECT_EQ(read(slurm_task("8(x4),3", 3))->local_world_size, 8);
  EXPECT_EQ(read(slurm_task("8(x4),3", 4))->local_world_size, 3);
  EXPECT_EQ(read(slurm_task("1,2(x2),7", 2))->local_world_size, 2);
  EXPECT_EQ(read(slurm_task("1,2(x2),7", 3))->local_world_size, 7);
  EXPECT_EQ(refusal(slurm_task("8(x4),3", 5)),
            "SLURM_NODEID is 5, but SLURM_STEP_TASKS_PER_NODE is \"8(x4),3\"");
  for (const char* damaged : {"", ",", "8(x", "8(x0)", "(x4)", "8(x4", "8(4)", "0", "-1", "8x4",
                              "8(x4)(x2)", "8 (x4)", "8(x99999999999999)", "99999999999"}) {
    EXPECT_EQ(refusal(slurm_task(damaged, 0)),
              "SLURM_STEP_TASKS_PER_NODE is \"" + std::string(damaged) + "\", not like 8(x4),3");
  }
}

TEST(RankEnv, SlurmFallsBackToTheJobsNumbers) {
  expect({{"SLURM_PROCID", "1"},
          {"SLURM_STEPID", "0"},
          {"SLURM_NTASKS", "4"},
          {"SLURM_LOCALID", "1"},
          {"SLURM_NODEID", "0"},
          {"SLURM_NNODES", "2"},
          {"SLURM_TASKS_PER_NODE", "2(x2)"}},
         {.rank = 1,
          .world_size = 4,
          .local_rank = 1,
          .local_world_size = 2,
          .node_rank = 0,
          .nodes = 2,
          .launcher = "slurm",
          .mpi = false});
}

TEST(RankEnv, RefusesWhatIsNoRank) {
  Variables variables = captured("mpirun-rank-2-of-3.txt");
  const auto with = [&](const std::string& name, const std::string& value) {
    Variables changed = variables;
    changed[name] = value;
    return refusal(changed);
  };
  EXPECT_EQ(with("OMPI_COMM_WORLD_RANK", "3"),
            "OMPI_COMM_WORLD_RANK is 3, but OMPI_COMM_WORLD_SIZE is 3");
  EXPECT_EQ(with("OMPI_COMM_WORLD_RANK", "two"),
            "OMPI_COMM_WORLD_RANK is \"two\", not a number from 0 to 16777216");
  EXPECT_EQ(with("OMPI_COMM_WORLD_RANK", "-1"),
            "OMPI_COMM_WORLD_RANK is \"-1\", not a number from 0 to 16777216");
  EXPECT_EQ(with("OMPI_COMM_WORLD_SIZE", "0"),
            "OMPI_COMM_WORLD_SIZE is \"0\", not a number from 1 to 16777216");
  EXPECT_EQ(with("OMPI_COMM_WORLD_LOCAL_SIZE", "4"),
            "OMPI_COMM_WORLD_LOCAL_SIZE is 4, but OMPI_COMM_WORLD_SIZE is 3");
  EXPECT_EQ(with("OMPI_COMM_WORLD_LOCAL_SIZE", "2"),
            "OMPI_COMM_WORLD_LOCAL_RANK is 2, but OMPI_COMM_WORLD_LOCAL_SIZE is 2");
  variables.erase("OMPI_COMM_WORLD_LOCAL_RANK");
  EXPECT_EQ(refusal(variables), "OMPI_COMM_WORLD_RANK is set, but not OMPI_COMM_WORLD_LOCAL_RANK");
  EXPECT_EQ(refusal({{"PMIX_RANK", "0"}}), "PMIX_RANK is set, but not PMI_SIZE");
}

TEST(RankEnv, IsConsistentOrRefusedForAnyEnvironment) {
  std::vector<std::string> names = {"SLURM_STEPID", "SLURM_NTASKS", "SLURM_NNODES"};
  for (const char* file :
       {"srun-pmix-rank-3-of-4.txt", "sbatch-batch-script.txt", "mpirun-rank-2-of-3.txt"}) {
    for (const auto& [name, value] : captured(file)) names.push_back(name);
  }
  for (const char* name : {"PMI_RANK", "PMI_SIZE", "PMI_LOCAL_RANK", "PMI_LOCAL_SIZE", "RANK",
                           "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK",
                           "GROUP_WORLD_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"}) {
    names.push_back(name);
  }
  constexpr std::size_t small_numbers = 4;  // the first of these
  const std::vector<std::string> values = {"0",
                                           "1",
                                           "2",
                                           "3",
                                           "4",
                                           "16777216",
                                           "16777217",
                                           "",
                                           " ",
                                           "-1",
                                           "+1",
                                           " 1",
                                           "1 ",
                                           "0x1",
                                           "1e3",
                                           "99999999999999999999999",
                                           "NaN",
                                           "2(x2)",
                                           "1(x4)",
                                           "4",
                                           "8(x4),3",
                                           "1,1,1,1",
                                           "(x",
                                           ")",
                                           "2(x2),",
                                           "2(x-1)",
                                           "\xF0\x9F\x98\x80",
                                           std::string(10000, '9'),
                                           "%s%n",
                                           "\n"};
  std::mt19937 random(42);
  int accepted = 0;
  for (int round = 0; round < 10000; ++round) {
    Variables variables;
    const std::size_t hostile_in_40 = random() % 8;
    for (const std::string& name : names) {
      if (random() % 4 == 0) continue;
      const bool hostile = random() % 40 < hostile_in_40;
      variables[name] = values[random() % (hostile ? values.size() : small_numbers)];
    }
    const auto env = read(variables);
    if (!env) {
      ASSERT_EQ(env.error().kind, ErrorKind::bad_request);
      ASSERT_FALSE(env.error().what.empty());
      continue;
    }
    ++accepted;
    ASSERT_TRUE(0 <= env->rank && env->rank < env->world_size);
    ASSERT_TRUE(0 <= env->local_rank && env->local_rank < env->local_world_size);
    ASSERT_LE(env->local_world_size, env->world_size);
    ASSERT_GE(env->node_rank, -1);
    ASSERT_GE(env->nodes, 0);
    ASSERT_TRUE(env->nodes == 0 || env->node_rank < env->nodes);
  }
  EXPECT_GT(accepted, 300) << "the fuzz must reach the far side of the parser";
}

TEST(RankEnv, TheProcessEnvironmentIsTheRealOne) {
  ::setenv("DLLAUNCH_TEST_RANK_ENV", "seven", 1);
  EXPECT_EQ(process_environment()("DLLAUNCH_TEST_RANK_ENV"), "seven");
  ::unsetenv("DLLAUNCH_TEST_RANK_ENV");
  EXPECT_EQ(process_environment()("DLLAUNCH_TEST_RANK_ENV"), std::nullopt);
}

TEST(RankEnv, AGenerationIsAWholeNumberFromOneOrNotSet) {
  const auto read = [](std::optional<std::string> text) {
    return read_fencing_token([&](const std::string& name) {
      EXPECT_EQ(name, "DLLAUNCH_GENERATION");
      return text;
    });
  };
  EXPECT_EQ(*read(std::nullopt), std::nullopt);
  EXPECT_EQ(*read("3"), 3);
  for (const char* text : {"", "0", "-1", "three", "1.0", "99999999999999999999"}) {
    const auto refused = read(text);
    ASSERT_FALSE(refused) << text;
    EXPECT_EQ(refused.error().kind, ErrorKind::bad_request);
    EXPECT_EQ(refused.error().what,
              "DLLAUNCH_GENERATION is \"" + std::string(text) + "\", not a whole number from 1");
  }
}

TEST(RuntimeCore, LinksNoMpi) {
  std::ifstream maps("/proc/self/maps");
  int lines = 0;
  for (std::string line; std::getline(maps, line); ++lines) {
    EXPECT_EQ(line.find("libmpi"), std::string::npos) << line;
  }
  EXPECT_GT(lines, 0);
}

}  // namespace
}  // namespace dllaunch
