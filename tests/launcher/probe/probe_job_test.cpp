#include "launcher/probe/probe_job.hpp"

#include <gmock/gmock.h>

#include "launcher/cluster/probed_node.hpp"
#include "tests/launcher/sample_plans.hpp"
#include "tests/launcher/sample_probes.hpp"
#include "tests/support/golden.hpp"

namespace dllaunch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::vector<ProbeTarget> targets(const Facts& facts, const std::string& partition) {
  auto found = probe_targets(*facts.slurm, partition);
  EXPECT_TRUE(found) << found.error().what;
  return found ? *found : std::vector<ProbeTarget>{};
}

TEST(ProbeJob, EveryKindOfNodeIsAskedOnce) {
  const auto all = targets(mixed_cluster(), "");
  ASSERT_EQ(all.size(), 3u) << "thin, a100 and h100";
  EXPECT_EQ(all[1].type.gpu_type, "a100");
  ASSERT_EQ(all[1].places.size(), 2u) << "the partition that is down is not asked";
  EXPECT_EQ(all[1].places[0].partition, "batch") << "the default one first";
  EXPECT_THAT(all[1].places[0].others, ElementsAre("n1", "n2"));
  EXPECT_THAT(all[1].places[1].others, ElementsAre("h1"));
}

TEST(ProbeJob, ANamedPartitionAloneIsAsked) {
  const auto gpu = targets(mixed_cluster(), "gpu");
  ASSERT_EQ(gpu.size(), 2u);
  EXPECT_EQ(gpu[0].places.size(), 1u);
  EXPECT_EQ(targets(mixed_cluster(), "closed").size(), 1u) << "it may open soon";
  const auto none = probe_targets(*mixed_cluster().slurm, "gpus");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::unsatisfiable);
  EXPECT_EQ(none.error().hint, "use gpu");
  auto empty = mixed_cluster();
  empty.slurm->partitions[2].node_types.clear();
  EXPECT_EQ(probe_targets(*empty.slurm, "closed").error().what, "partition closed has no node");
  empty.slurm->partitions.clear();
  EXPECT_FALSE(probe_targets(*empty.slurm, ""));
}

TEST(ProbeJob, NodesOfTwoPartitionsAreOneKind) {
  auto facts = mixed_cluster();
  facts.slurm->partitions[1].node_types[0].hosts = {"g3", "g4"};
  const auto all = targets(facts, "");
  EXPECT_THAT(all[1].type.hosts, ElementsAre("g1", "g2", "g3", "g4"));
}

TEST(ProbeJob, TheScriptIsGolden) {
  const auto gpu = targets(mixed_cluster(), "gpu");
  EXPECT_TRUE(matches_golden(
      "launcher/probe.sbatch",
      render_probe_script(gpu[0], gpu[0].places[0], {.account = "project 1", .qos = "debug"},
                          "/opt/my programs/dllaunch", "/home/me/100%/0.out")));
}

TEST(ProbeJob, TheScriptAsksForNothingThatIsNotThere) {
  const auto small = targets(small_cluster(), "");
  const auto text = render_probe_script(small[0], small[0].places[0], {}, "/d", "/o");
  for (const auto* option : {"--gpus", "--exclude", "--account", "--qos", "--reservation"})
    EXPECT_THAT(text, Not(HasSubstr(std::string(option) + "="))) << option;
}

Capture sample() {
  auto node = probe_of(mixed_cluster(), mixed_cluster().slurm->partitions[0].node_types[1]);
  return {.node = std::move(node),
          .xml = "<topology version=\"2.0\">\n \xff\x01 &lt;\n</topology>\n"};
}

TEST(ProbeJob, ACaptureIsFoundAmongOtherWords) {
  const auto line = render_capture(sample());
  EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1);
  const auto found = find_capture("Welcome to g1!\nloading modules: " + line + "slurmstepd: bye\n");
  ASSERT_TRUE(found) << found.error().what;
  EXPECT_EQ(to_json(found->node), to_json(sample().node));
  EXPECT_EQ(found->xml.substr(0, 26), "<topology version=\"2.0\">\n ");
}

TEST(ProbeJob, ACaptureKnowsNothingOfSlurm) {
  auto capture = sample();
  capture.node.type = {};
  const auto found = find_capture(render_capture(capture));
  ASSERT_TRUE(found) << found.error().what;
  EXPECT_EQ(found->node.type.cpus, 64) << "what it sees";
}

TEST(ProbeJob, ACaptureIsWholeOrNone) {
  const auto line = render_capture(sample());
  for (std::size_t size = 0; size < line.size(); size += 37) {
    const auto found = find_capture(line.substr(0, size));
    ASSERT_FALSE(found) << size;
    EXPECT_EQ(found.error().kind, ErrorKind::unavailable) << "it may still be coming";
  }
  EXPECT_EQ(find_capture("").error().kind, ErrorKind::unavailable);
  EXPECT_EQ(find_capture("dllaunch-probe: {\"node\": 3}\n").error().kind, ErrorKind::bad_request);
  EXPECT_EQ(find_capture("dllaunch-probe: [\n").error().kind, ErrorKind::bad_request);
}

}  // namespace
}  // namespace dllaunch
