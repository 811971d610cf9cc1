// Verbs that take the name of a cluster.
#include <gmock/gmock.h>

#include "launcher/cli/command_line.hpp"
#include "support/json.hpp"
#include "tests/support/fake_system.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;
using testing::Not;

Result<int> call(System& system, const std::vector<std::string>& args) {
  auto parsed =
      parse_command_line(command_groups(), args, [](const std::string&) { return false; });
  if (!parsed) return std::move(parsed).error();
  return std::get<Invocation>(*parsed).body(system);
}

std::string printed(const std::vector<std::string>& args) {
  FakeSystem system;
  const auto code = call(system, args);
  EXPECT_TRUE(code) << code.error().what;
  return system.printed;
}

TEST(ClusterCommands, BindTakesAProfilesName) {
  EXPECT_THAT(printed({"bind", "--topology", "lumi-g", "--format", "srun"}),
              HasSubstr("mask_cpu:0xfe000000000000,0xfe00000000000000,0xfe0000,0xfe000000,0xfe,"
                        "0xfe00,0xfe00000000,0xfe0000000000"));
  const auto json = Json::parse(printed({"bind", "--topology", "lumi-g", "--json"}));
  EXPECT_EQ(json["srun"]["map_cpu"], "map_cpu:49,57,17,25,1,9,33,41");
}

TEST(ClusterCommands, ANodeIsNamedByItsTypeOrPartition) {
  const auto cpus = [](const std::string& name) {
    return Json::parse(printed({"topo", "--topology", name, "--json"}))["allowed_cpus"];
  };
  EXPECT_EQ(cpus("perlmutter"), "0-127");
  EXPECT_EQ(cpus("perlmutter:cpu"), "0-255");
  EXPECT_EQ(cpus("perlmutter:gpu-hbm80g"), "0-127");
  EXPECT_EQ(cpus("lumi-g:standard-g"),
            "1-7,9-15,17-23,25-31,33-39,41-47,49-55,57-63,65-71,73-79,81-87,89-95,97-103,105-111,"
            "113-119,121-127");
  FakeSystem system;
  const auto none = call(system, {"topo", "--topology", "perlmutter:gpus"});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().what, "cluster profile perlmutter describes no node 'gpus'");
  EXPECT_THAT(none.error().hint, HasSubstr("gpu gpu80g cpu"));
}

TEST(ClusterCommands, LintKnowsAClustersReservedCores) {
  FakeSystem system;
  system.files["job.sbatch"] =
      "#!/bin/bash\n#SBATCH --time=10 --exclusive --nodes=1 --ntasks-per-node=8 "
      "--gpus-per-node=8\nsrun --cpu-bind=map_cpu:48,56,16,24,0,8,32,40 ./a\n";
  EXPECT_EQ(*call(system, {"lint", "job.sbatch", "--topology", "lumi-g"}), 4);
  EXPECT_THAT(system.printed, HasSubstr("the first core of each L3 is kept for the system"));
  EXPECT_THAT(system.printed, HasSubstr("--cpu-bind=map_cpu:49,57,17,25,1,9,33,41"));
  system.printed.clear();
  system.files["job.sbatch"].replace(system.files["job.sbatch"].find("48,56"), 21,
                                     "49,57,17,25,1,9,33,41");
  ASSERT_TRUE(call(system, {"lint", "job.sbatch", "--topology", "lumi-g"}));
  EXPECT_THAT(system.printed, Not(HasSubstr("[mask-"))) << "the guide's own list is right";
}

TEST(ClusterCommands, InfoListsThemAndPrintsOne) {
  const auto text = printed({"info"});
  EXPECT_THAT(text, HasSubstr("clusters      cpu "));
  EXPECT_THAT(text, HasSubstr("lumi-g            LUMI-G, CSC, Finland"));
  const auto json = Json::parse(printed({"info", "--json"}));
  EXPECT_GE(json["clusters"].size(), 12u);
  EXPECT_EQ(json["clusters"][0]["file"], "built in");
  EXPECT_THAT(printed({"info", "--cluster", "polaris"}), HasSubstr("\nscheduler: pbs"));
  FakeSystem system;
  EXPECT_FALSE(call(system, {"info", "--cluster", "polari"}));
}

TEST(ClusterCommands, ScriptIsWrittenAwayFromTheCluster) {
  FakeSystem system;
  system.files["job.yaml"] =
      "name: j\ncluster: lumi-g\nresources: {nodes: 2, partition: standard-g}\nrun: ./a\n";
  ASSERT_EQ(*call(system, {"script", "job.yaml"}), 0);
  EXPECT_THAT(system.printed, HasSubstr("#SBATCH --gpus-per-node=8"));
  EXPECT_THAT(system.printed, HasSubstr("export NCCL_SOCKET_IFNAME=hsn0,hsn1,hsn2,hsn3"));
  EXPECT_THAT(system.printed, HasSubstr(R"("MIOPEN_USER_DB_PATH":"/tmp/{user}-miopen-{job}")"))
      << "in the plan that the shim reads on the node";
  EXPECT_THAT(system.printed, Not(HasSubstr("export MIOPEN_USER_DB_PATH")));
  EXPECT_EQ(*call(system, {"validate", "job.yaml"}), 0);
}

TEST(ClusterCommands, ScriptSaysWhereItCannotServe) {
  FakeSystem system;
  system.files["job.yaml"] = "name: j\ncluster: summit\nrun: ./a\n";
  const auto refused = call(system, {"script", "job.yaml"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::unavailable);
  EXPECT_EQ(refused.error().what, "summit is run by LSF, and dllaunch writes sbatch scripts");
  system.printed.clear();
  ASSERT_EQ(*call(system, {"plan", "job.yaml", "--json"}), 0);
  const auto plan = Json::parse(system.printed);
  EXPECT_EQ(plan["start"][0], "jsrun");
  EXPECT_TRUE(plan["srun"].empty());
}

TEST(ClusterCommands, RunSaysThatTheClusterIsNotHere) {
  FakeSystem system;
  system.files["job.yaml"] =
      "name: j\ncluster: lumi-g\nresources: {partition: standard-g}\nrun: ./a\n";
  const auto refused = call(system, {"run", "job.yaml"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::unavailable);
  EXPECT_THAT(refused.error().what, HasSubstr("the job is for lumi-g, which is not here"));
  EXPECT_EQ(*call(system, {"run", "job.yaml", "--dry-run"}), 0);
}

}  // namespace
}  // namespace dllaunch
