#include "launcher/cluster/facts.hpp"

#include <gmock/gmock.h>

#include <fstream>
#include <sstream>

#include "tests/support/fake_system.hpp"
#include "topology/node/synthetic.hpp"

namespace dllaunch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string fixture(const std::string& name) {
  std::ifstream file(DLLAUNCH_SOURCE_DIR "/tests/fixtures/slurm/" + name);
  EXPECT_TRUE(file) << name;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

FakeSystem cluster() {
  FakeSystem system;
  system.host = "head";
  system.programs = {"sinfo"};
  system.answers = {
      {"scontrol show config", {0, fixture("22.05/config.txt"), ""}},
      {"scontrol --all --oneliner show partition", {0, fixture("22.05/partition.txt"), ""}},
      {"scontrol --all --oneliner show node", {0, fixture("22.05/node.txt"), ""}},
      {"srun --mpi=list", {0, fixture("22.05/mpi-list.txt"), ""}},
      {"srun --help", {0, "Usage: srun [OPTIONS...] executable [args...]\n", ""}}};
  return system;
}

/// What Debian's package says on a machine that belongs to no cluster.
constexpr const char* not_configured =
    "scontrol: error: resolve_ctls_from_dns_srv: res_nsearch error: Unknown host\n"
    "scontrol: error: fetch_config: DNS SRV lookup failed\n"
    "scontrol: error: _establish_config_source: failed to fetch config\n"
    "scontrol: fatal: Could not establish a configuration source\n";

TEST(Facts, GroupsTheNodesOfEachPartition) {
  auto system = cluster();
  const auto facts = observe(system);
  ASSERT_TRUE(facts) << facts.error().what;
  EXPECT_EQ(system.ran.size(), 6U) << "each command is a question to a busy controller";
  EXPECT_EQ(facts->host, "head");
  EXPECT_FALSE(facts->topology) << "a login node is the wrong machine";
  ASSERT_TRUE(facts->slurm);
  EXPECT_EQ(facts->slurm->version, "22.05.8");
  EXPECT_EQ(facts->slurm->cluster, "aurochs");
  EXPECT_THAT(facts->slurm->mpi_types, testing::Contains("pmix"));
  EXPECT_EQ(facts->slurm->mpi_default, "none");
  EXPECT_FALSE(facts->slurm->pyxis);
  ASSERT_EQ(facts->slurm->partitions.size(), 2U);
  const auto& batch = facts->slurm->partitions[0];
  EXPECT_TRUE(batch.is_default);
  ASSERT_EQ(batch.node_types.size(), 3U);
  EXPECT_THAT(batch.node_types[0].hosts, ElementsAre("n1", "n2"));
  EXPECT_EQ(batch.node_types[2].cpus, 112);
  const auto& gpu = facts->slurm->partitions[1];
  EXPECT_FALSE(gpu.up);
  EXPECT_EQ(gpu.max_minutes, 3600);
  ASSERT_EQ(gpu.node_types.size(), 2U);
  EXPECT_EQ(gpu.node_types[0].gpu_type, "a100");
}

/// docs/how-to/before-the-queue.md gives these numbers; sbatch --test-only and sbatch come on top.
TEST(Facts, AsksSlurmAsOftenAsTheManualSays) {
  auto system = cluster();
  auto facts = observe(system);
  ASSERT_TRUE(facts && facts->slurm);
  facts->slurm->enforced = {"associations"};
  system.programs.insert({"id", "sacctmgr"});
  system.answers["id -un"] = {0, "alice\n", ""};
  system.respond = [](const auto& argv) -> std::optional<Result<CommandOutput>> {
    if (argv[0] != "sacctmgr") return std::nullopt;
    return CommandOutput{0, "physics||normal\n", ""};
  };
  observe_user(system, *facts->slurm);
  const auto asked = [&system](const std::string& program) {
    return std::count_if(system.ran.begin(), system.ran.end(),
                         [&](const auto& argv) { return argv[0] == program; });
  };
  EXPECT_EQ(asked("scontrol"), 5);
  EXPECT_EQ(asked("sacctmgr"), 2);
  EXPECT_EQ(asked("srun"), 2);
}

TEST(Facts, WithoutSlurmKnowsThisMachine) {
  FakeSystem system;
  system.node = *synthetic_topology("cores:2");
  const auto facts = observe(system);
  ASSERT_TRUE(facts);
  EXPECT_FALSE(facts->slurm);
  EXPECT_EQ(facts->why_no_slurm, "sinfo is not installed");
  ASSERT_TRUE(facts->topology);
  EXPECT_EQ(facts->topology->cores.size(), 2U);
  EXPECT_TRUE(system.ran.empty());
  EXPECT_TRUE(facts->no_mpirun);
  system.programs = {"mpirun"};
  EXPECT_FALSE(observe(system)->no_mpirun);
  EXPECT_FALSE(observe_local(system)->no_mpirun);
}

TEST(Facts, SayWhetherTheTrainerWouldFindAnMpiModule) {
  FakeSystem system;
  system.node = *synthetic_topology("cores:2");
  system.variables["DLLAUNCH_MPI_MODULE"] = "";
  EXPECT_TRUE(observe(system)->no_mpi_module);
  EXPECT_TRUE(observe_local(system)->no_mpi_module);
  system.variables["DLLAUNCH_MPI_MODULE"] = "/opt/libdltrain_mpi.so";
  EXPECT_FALSE(observe(system)->no_mpi_module);
}

TEST(Facts, SlurmWithoutAClusterCountsAsAbsent) {
  auto system = cluster();
  system.answers["scontrol show config"] = {1, "", not_configured};
  const auto facts = observe(system);
  ASSERT_TRUE(facts);
  EXPECT_FALSE(facts->slurm);
  EXPECT_THAT(facts->why_no_slurm, HasSubstr("belongs to no cluster"));
  EXPECT_TRUE(facts->topology);
}

TEST(Facts, ASilentControllerIsAnErrorWithAWayOut) {
  auto system = cluster();
  system.answers["scontrol show config"] = {
      1, "", "slurm_load_ctl_conf error: Unable to contact slurm controller (connect failure)\n"};
  const auto facts = observe(system);
  ASSERT_FALSE(facts);
  EXPECT_EQ(facts.error().kind, ErrorKind::unavailable);
  EXPECT_THAT(facts.error().what, HasSubstr("Unable to contact slurm controller"));
  EXPECT_THAT(facts.error().hint, HasSubstr("--local"));
}

/// Slurm itself would say so a minute later.
TEST(Facts, AConfigurationThatIsNotThereIsSeenAtOnce) {
  auto system = cluster();
  system.variables["SLURM_CONF"] = "/etc/gone/slurm.conf";
  const auto facts = observe(system);
  ASSERT_FALSE(facts);
  EXPECT_EQ(facts.error().kind, ErrorKind::unavailable);
  EXPECT_THAT(facts.error().what, HasSubstr("SLURM_CONF=/etc/gone/slurm.conf"));
  EXPECT_THAT(facts.error().hint, HasSubstr("--local"));
  EXPECT_THAT(system.ran, testing::IsEmpty());
  system.files["/etc/gone/slurm.conf"] = "";
  EXPECT_TRUE(observe(system));
}

TEST(Facts, AHangingControllerIsATimeout) {
  for (const auto* command : {"scontrol show config", "scontrol --all --oneliner show partition",
                              "scontrol --all --oneliner show node"}) {
    auto system = cluster();
    system.answers.erase(command);
    const auto facts = observe(system);
    ASSERT_FALSE(facts) << command;
    EXPECT_EQ(facts.error().kind, ErrorKind::timeout);
    EXPECT_THAT(facts.error().hint, HasSubstr("--local"));
  }
}

TEST(Facts, SurvivesASrunThatListsNothing) {
  auto system = cluster();
  system.answers["srun --mpi=list"] = {1, "", "srun: error: invalid option\n"};
  const auto facts = observe(system);
  ASSERT_TRUE(facts);
  EXPECT_TRUE(facts->slurm->mpi_types.empty());
}

TEST(Facts, SeesPyxisInTheHelpOfSrun) {
  auto system = cluster();
  system.answers["srun --help"] = {
      0, "      --container-image=[USER@][REGISTRY#]IMAGE[:TAG]|PATH\n", ""};
  const auto facts = observe(system);
  ASSERT_TRUE(facts);
  EXPECT_TRUE(facts->slurm->pyxis);
}

TEST(Facts, LocallySlurmIsNotAsked) {
  auto system = cluster();
  const auto facts = observe_local(system);
  ASSERT_TRUE(facts);
  EXPECT_FALSE(facts->slurm);
  EXPECT_TRUE(facts->topology);
  EXPECT_TRUE(system.ran.empty());
}

}  // namespace
}  // namespace dllaunch
