// `dllaunch probe` and what the other commands make of its cache, against a FakeSystem. The jobs
// themselves: execute/probe_test.cpp and tests/end_to_end/slurm_probe_test.cpp.
#include <gmock/gmock.h>

#include <fstream>
#include <iterator>

#include "launcher/cli/command_line.hpp"
#include "launcher/cluster/probe_cache.hpp"
#include "launcher/cluster/probed_node.hpp"
#include "launcher/probe/probe_job.hpp"
#include "support/json.hpp"
#include "tests/launcher/disk_system.hpp"
#include "tests/launcher/sample_plans.hpp"
#include "tests/launcher/sample_probes.hpp"
#include "topology/node/synthetic.hpp"

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

std::string fixture(const std::string& name) {
  std::ifstream file(DLLAUNCH_SOURCE_DIR "/tests/fixtures/slurm/22.05/" + name);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The captured cluster: n1 and n2 of 2 CPUs, n3 with 4 a100, n4 with 8 h100; its login node.
class ProbeCommand : public testing::Test {
 protected:
  ProbeCommand() {
    system_.programs = {"sinfo"};
    system_.answers = {
        {"scontrol show config", {0, fixture("config.txt"), ""}},
        {"scontrol --all --oneliner show partition", {0, fixture("partition.txt"), ""}},
        {"scontrol --all --oneliner show node", {0, fixture("node.txt"), ""}},
        {"srun --mpi=list", {0, fixture("mpi-list.txt"), ""}}};
    system_.node = *synthetic_topology("cores:16");
    system_.files["job.yaml"] =
        "name: j\nresources: {ranks_per_node: 2, constraint: h100}\n"
        "run: [echo, hi]\n";
  }

  /// As if `dllaunch probe` had seen n4.
  ProbedNode probed() {
    const auto facts = observe(system_);
    EXPECT_TRUE(facts);
    auto node = probe_of(*facts, facts->slurm->partitions[0].node_types[2]);
    node.partitions = {"batch", "gpu"};
    return node;
  }
  void keep(const ProbedNode& node) {
    const auto files = write_probe(system_, node, "<topology/>");
    EXPECT_TRUE(files) << files.error().what;
  }
  Json planned() {
    system_.printed.clear();
    const auto code = call(system_, {"plan", "job.yaml", "--json"});
    EXPECT_TRUE(code) << code.error().what;
    return Json::parse(system_.printed);
  }

  DiskSystem system_;
};

TEST_F(ProbeCommand, APlanUsesItAndSaysSo) {
  EXPECT_EQ(planned()["topology"].dump(),
            R"({"source":"slurm","host":null,"age_seconds":null,"exact":false})");
  keep(probed());
  const auto plan = planned();
  EXPECT_EQ(plan["topology"]["source"], "probe");
  EXPECT_EQ(plan["topology"]["host"], "n4");
  EXPECT_GT(plan["topology"]["age_seconds"], 1'000'000);
  system_.printed.clear();
  ASSERT_TRUE(call(system_, {"plan", "job.yaml"}));
  EXPECT_THAT(system_.printed, HasSubstr("  topology: probed on n4, "));
  EXPECT_THAT(system_.printed, HasSubstr(" days ago; `dllaunch probe batch` refreshes it\n"));
  EXPECT_EQ(system_.logged, "");
}

TEST_F(ProbeCommand, AScriptBindsByIt) {
  system_.files["job.yaml"] =
      "name: j\nresources: {ranks_per_node: 8, constraint: h100}\nrun: [echo, hi]\n";
  auto node = probed();
  // What a job may use: Slurm keeps CPUs to itself.
  node.topology.allowed_cpus = IdSet::range(4, 59) | IdSet::range(68, 123);
  keep(node);
  ASSERT_TRUE(call(system_, {"script", "job.yaml"}));
  EXPECT_THAT(system_.printed, HasSubstr("--cpu-bind=mask_cpu:0x"));
}

TEST_F(ProbeCommand, APlanForRecordedFactsLooksAtNoCache) {
  const auto node = probed();
  keep(node);
  const auto facts = observe(system_);
  system_.files["facts.json"] = to_json(*facts).dump();
  system_.answers.clear();  // nor is Slurm asked
  ASSERT_TRUE(call(system_, {"plan", "job.yaml", "--facts", "facts.json", "--json"}));
  EXPECT_EQ(Json::parse(system_.printed)["topology"]["source"], "slurm");
  // But a probe that was recorded with them counts.
  auto with_probe = *facts;
  with_probe.probed = {node};
  system_.files["facts.json"] = to_json(with_probe).dump();
  system_.printed.clear();
  ASSERT_TRUE(call(system_, {"plan", "job.yaml", "--facts", "facts.json", "--json"}));
  EXPECT_EQ(Json::parse(system_.printed)["topology"]["source"], "probe");
}

TEST_F(ProbeCommand, InfoWritesFactsThatPlanTheSameElsewhere) {
  keep(probed());
  auto here = planned();
  system_.printed.clear();
  ASSERT_EQ(*call(system_, {"info", "--facts"}), 0);
  FakeSystem laptop;
  laptop.files["facts.json"] = system_.printed;
  laptop.files["job.yaml"] = system_.files["job.yaml"];
  ASSERT_EQ(*call(laptop, {"plan", "job.yaml", "--facts", "facts.json", "--json"}), 0);
  auto there = Json::parse(laptop.printed);
  EXPECT_EQ(there["binding"], here["binding"]);
  EXPECT_EQ(there["topology"]["source"], "probe");
  EXPECT_TRUE(laptop.ran.empty());
}

TEST_F(ProbeCommand, AnUnusableRecordIsNotedAndThePlanMade) {
  keep(probed());
  const auto files = probe_files(*probe_cache_folder(system_), probed());
  std::ofstream(files.json) << "{";
  EXPECT_EQ(planned()["topology"]["source"], "slurm");
  EXPECT_THAT(system_.logged, HasSubstr("dllaunch: warning: " + files.json + " is not used"));
}

TEST_F(ProbeCommand, BindAndTopoTakeItByPartition) {
  keep(probed());
  for (const auto& name :
       {std::string("gpu"), std::string("aurochs/gpu"), node_type_id(probed().type)}) {
    system_.printed.clear();
    const auto code = call(system_, {"bind", "--topology", "probed:" + name, "--json"});
    ASSERT_TRUE(code) << name << ": " << code.error().what;
    EXPECT_EQ(Json::parse(system_.printed)["ranks"].size(), 8u);
  }
  const auto none = call(system_, {"topo", "--topology", "probed:debug"});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::unsatisfiable);
  EXPECT_THAT(none.error().hint, HasSubstr("dllaunch probe debug"));
  auto other = probed();
  other.type.gpus = 4;
  keep(other);
  const auto two = call(system_, {"topo", "--topology", "probed:gpu"});
  ASSERT_FALSE(two);
  EXPECT_THAT(two.error().hint, HasSubstr("probed:aurochs/" + node_type_id(other.type)));
}

TEST_F(ProbeCommand, ListsWhatIsKept) {
  ASSERT_EQ(*call(system_, {"probe", "--list"}), 0);
  EXPECT_EQ(system_.printed, "");
  EXPECT_THAT(system_.logged, HasSubstr("nothing probed yet"));
  keep(probed());
  ASSERT_EQ(*call(system_, {"probe", "--list"}), 0);
  EXPECT_THAT(system_.printed,
              HasSubstr("aurochs  batch,gpu   n4     128 CPUs (1 x 64 x 2), 8 GPUs "
                        "(h100)  n4       "));
  system_.printed.clear();
  ASSERT_EQ(*call(system_, {"probe", "--list", "--json"}), 0);
  EXPECT_EQ(Json::parse(system_.printed)["probed"][0]["host"], "n4");
}

TEST_F(ProbeCommand, NeedsASlurm) {
  FakeSystem laptop;
  laptop.node = *synthetic_topology("cores:2");
  const auto code = call(laptop, {"probe"});
  ASSERT_FALSE(code);
  EXPECT_EQ(code.error().kind, ErrorKind::unavailable);
  EXPECT_THAT(code.error().what, HasSubstr("no Slurm here: sinfo is not installed"));
  const auto partition = call(system_, {"probe", "gpuu"});
  ASSERT_FALSE(partition);
  EXPECT_EQ(partition.error().hint, "use gpu");
}

TEST_F(ProbeCommand, InsideTheJobItPrintsWhatTheNodeIs) {
  system_.host = "n4";
  system_.files["/proc/sys/kernel/osrelease"] = "6.1.0-18-amd64\n";
  system_.files["/sys/module/nvidia/version"] = "535.104.05\n";
  ASSERT_EQ(*call(system_, {"probe", "--capture"}), 0);
  const auto capture = find_capture(system_.printed);
  ASSERT_TRUE(capture) << capture.error().what;
  EXPECT_EQ(capture->node.host, "n4");
  EXPECT_EQ(capture->node.topology.cores.size(), 16u);
  EXPECT_THAT(capture->node.drivers,
              testing::Contains(std::pair<std::string, std::string>("nvidia", "535.104.05")));
  EXPECT_THAT(capture->xml, HasSubstr("<topology"));
}

TEST_F(ProbeCommand, TopoWritesXmlThatItReads) {
  const auto path = system_.folder.path() + "/node.xml";
  ASSERT_EQ(*call(system_, {"topo", "--xml", path}), 0);
  EXPECT_EQ(system_.printed, "");
  EXPECT_EQ(*call(system_, {"topo", "--topology", path, "--json"}), 0);
  system_.printed.clear();
  ASSERT_EQ(*call(system_, {"topo", "--xml", "-"}), 0);
  EXPECT_THAT(system_.printed, HasSubstr("<topology"));
  EXPECT_FALSE(call(system_, {"topo", "--xml", "/no/such/folder/x"}));
  EXPECT_FALSE(call(system_, {"topo", "--xml", path, "--json"}));
}

}  // namespace
}  // namespace dllaunch
