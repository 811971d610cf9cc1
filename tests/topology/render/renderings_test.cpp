// The rules of `dllaunch bind --format`. Its output is golden
// (launcher/cli/commands/bind_test.cpp), and the real tools read it in
// tests/end_to_end/bind_formats_test.cpp.
#include "topology/render/renderings.hpp"

#include <gmock/gmock.h>

#include <sstream>

#include "tests/topology/node/machines.hpp"
#include "tests/topology/placement/invariants.hpp"
#include "topology/render/masks.hpp"

namespace dllaunch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

Rendering rendered(BindFormat format, const Topology& node, const PlacementRequest& request,
                   const RenderingOptions& options = {}) {
  // The promises of place_ranks(), which placed() checks, apply to bound ranks only.
  const auto placement =
      request.policy == BindPolicy::none ? *place_ranks(node, request) : placed(node, request);
  return render_binding(format, node, placement, options);
}

std::vector<std::string> lines(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> all;
  for (std::string line; std::getline(in, line);) all.push_back(line);
  return all;
}

TEST(Renderings, FormatsAreKnownByName) {
  for (const auto* name :
       {"table", "srun", "rankfile", "numactl", "taskset", "hwloc-bind", "env", "script"})
    EXPECT_TRUE(parse_bind_format(name)) << name;
  const auto refused = parse_bind_format("numctl");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().what, "unknown format 'numctl'");
  EXPECT_THAT(refused.error().hint, HasSubstr("hwloc-bind"));
}

TEST(Renderings, SrunTakesItsOptionsOnOneLine) {
  const auto node = fixture("eight-gcds-low-noise.json");
  EXPECT_EQ(rendered(BindFormat::srun, node, {}).text,
            "--ntasks-per-node=8 --cpu-bind=mask_cpu:0xfe000000000000,0xfe00000000000000,0xfe0000,"
            "0xfe000000,0xfe,0xfe00,0xfe00000000,0xfe0000000000 --mem-bind=prefer,local\n");
  EXPECT_EQ(rendered(BindFormat::srun, node, {.policy = BindPolicy::none}).text,
            "--ntasks-per-node=8 --cpu-bind=none\n");
}

TEST(Renderings, ALineARankPrefersItsMemory) {
  const auto node = machine("packages:2 cores:2 threads:2 gpus:2");
  EXPECT_THAT(lines(rendered(BindFormat::numactl, node, {.smt = true}).text),
              ElementsAre("numactl --physcpubind=0-1,4-5 --preferred=0",
                          "numactl --physcpubind=2-3,6-7 --preferred=1"));
  EXPECT_THAT(lines(rendered(BindFormat::taskset, node, {.smt = true}).text),
              ElementsAre("taskset -c 0-1,4-5", "taskset -c 2-3,6-7"));
  EXPECT_THAT(
      lines(rendered(BindFormat::hwloc_bind, node, {.smt = true}).text),
      ElementsAre(
          "hwloc-bind --physical pu:0-1 pu:4-5 -- hwloc-bind --physical --membind node:0 --",
          "hwloc-bind --physical pu:2-3 pu:6-7 -- hwloc-bind --physical --membind node:1 --"));
  const auto whole = rendered(BindFormat::numactl, node, {.ranks = 1}).text;
  EXPECT_EQ(whole, "numactl --physcpubind=0-3\n") << "two NUMA nodes: first touch decides";
  auto elsewhere = node;
  elsewhere.numa[1].memory_bytes = 0;
  EXPECT_THAT(lines(rendered(BindFormat::numactl, elsewhere, {}).text)[1],
              Not(HasSubstr("preferred")));
}

TEST(Renderings, WithoutAPolicyNothingIsBound) {
  const auto node = machine("packages:2 cores:2 gpus:2");
  for (const auto format : {BindFormat::numactl, BindFormat::taskset, BindFormat::hwloc_bind}) {
    const auto made = rendered(format, node, {.policy = BindPolicy::none});
    EXPECT_EQ(made.text, "\n\n") << "a line a rank all the same";
    EXPECT_THAT(made.notes, ElementsAre(HasSubstr("nothing to bind")));
  }
  const auto file = rendered(BindFormat::rankfile, node, {.policy = BindPolicy::none});
  EXPECT_EQ(file.text, "");
  EXPECT_THAT(file.notes, ElementsAre(HasSubstr("--bind-to none")));
  EXPECT_EQ(rendered(BindFormat::env, node, {.policy = BindPolicy::none}).text,
            "env OMP_NUM_THREADS=2\nenv OMP_NUM_THREADS=2\n");
}

TEST(Renderings, ARankfileNumbersRanksOverTheHosts) {
  const auto node = machine("packages:2 cores:2 gpus:2");
  const auto made = rendered(BindFormat::rankfile, node, {}, {.hosts = {"n1", "n2"}});
  const auto all = lines(made.text);
  EXPECT_THAT(all[0], HasSubstr("mpirun --np 4 --rankfile FILE --mca rmaps_rank_file_physical 1"));
  EXPECT_THAT(std::vector(all.begin() + 2, all.end()),
              ElementsAre("rank 0=n1 slot=0-1", "rank 1=n1 slot=2-3", "rank 2=n2 slot=0-1",
                          "rank 3=n2 slot=2-3"));
  EXPECT_THAT(made.notes, ElementsAre(HasSubstr("Open MPI 5")));
}

TEST(Renderings, ARankfileCannotDivideACore) {
  const auto node = machine("cores:2 threads:2");
  const auto whole = rendered(BindFormat::rankfile, node, {.ranks = 2});
  EXPECT_EQ(whole.notes.size(), 1u);
  const auto halves = rendered(BindFormat::rankfile, node, {.ranks = 4});
  ASSERT_EQ(halves.notes.size(), 2u);
  EXPECT_THAT(halves.notes[1], HasSubstr("whole core"));
  EXPECT_EQ(rendered(BindFormat::rankfile, node, {.ranks = 8}).notes.size(), 2u)
      << "ranks that share a thread";
}

TEST(Renderings, DevicesAreHiddenOnRequestAlone) {
  const auto node = fixture("eight-gcds-low-noise.json");
  EXPECT_THAT(rendered(BindFormat::env, node, {}).text, Not(HasSubstr("VISIBLE")));
  const auto made = rendered(BindFormat::env, node, {.ranks = 4}, {.visible_devices = true});
  EXPECT_THAT(lines(made.text)[1], HasSubstr(" ROCR_VISIBLE_DEVICES=2,3 "));
  EXPECT_THAT(made.notes, ElementsAre(HasSubstr("NVLink")));
  const auto several = rendered(BindFormat::env, node, {.ranks = 16}, {.visible_devices = true});
  EXPECT_THAT(lines(several.text)[15], HasSubstr(" ROCR_VISIBLE_DEVICES=7 "));
}

TEST(Renderings, MixedGpusAreWarnedOf) {
  const auto node = fixture("two-vendors.json");
  const auto made = rendered(BindFormat::env, node, {.ranks = 1}, {.visible_devices = true});
  EXPECT_THAT(made.text, HasSubstr("CUDA_VISIBLE_DEVICES=0 ROCR_VISIBLE_DEVICES=0"));
  ASSERT_EQ(made.notes.size(), 2u);
  EXPECT_THAT(made.notes[1], HasSubstr("HIP obeys CUDA_VISIBLE_DEVICES"));
  auto slices = node;
  slices.gpus[0].partition = 0;
  const auto mig = rendered(BindFormat::env, slices, {}, {.visible_devices = true});
  EXPECT_THAT(mig.notes, testing::Contains(HasSubstr("UUIDs")));
}

TEST(Renderings, TheScriptPicksDevicesByLocalRank) {
  const auto node = fixture("two-vendors.json");
  const auto made = rendered(BindFormat::script, node, {}, {.visible_devices = true});
  EXPECT_THAT(made.text,
              HasSubstr("own=(0 \"\"); export CUDA_VISIBLE_DEVICES=${own[SLURM_LOCALID]}; "
                        "own=(\"\" 0); export ROCR_VISIBLE_DEVICES=${own[SLURM_LOCALID]}; "
                        "exec \"$@\"' rank \"$@\"\n"));
  EXPECT_THAT(rendered(BindFormat::script, node, {}).text, Not(HasSubstr("bash -c")));
}

// For every fixture and number of ranks: one line per rank, with the CPUs of the placement.
TEST(Renderings, EveryFormSaysTheSameCpus) {
  for (const auto& name : fixture_names()) {
    const auto node = fixture(name);
    for (const int ranks : {0, 1, 2, 3, 7, 16}) {
      SCOPED_TRACE(name + " " + std::to_string(ranks));
      const auto placement = placed(node, {.ranks = ranks});
      const auto of = [&](BindFormat format) {
        return lines(render_binding(format, node, placement, {}).text);
      };
      const auto numactl = of(BindFormat::numactl);
      const auto taskset = of(BindFormat::taskset);
      const auto rankfile = of(BindFormat::rankfile);
      ASSERT_EQ(numactl.size(), placement.ranks.size());
      ASSERT_EQ(taskset.size(), placement.ranks.size());
      ASSERT_EQ(of(BindFormat::hwloc_bind).size(), placement.ranks.size());
      ASSERT_EQ(of(BindFormat::env).size(), placement.ranks.size());
      ASSERT_EQ(rankfile.size(), placement.ranks.size() + 2);
      for (std::size_t i = 0; i < placement.ranks.size(); ++i) {
        const auto cpus = to_list(placement.ranks[i].cpus);
        EXPECT_EQ(taskset[i], "taskset -c " + cpus);
        EXPECT_THAT(numactl[i] + " ", HasSubstr("--physcpubind=" + cpus + " "));
        EXPECT_EQ(rankfile[i + 2].substr(rankfile[i + 2].find("slot=")), "slot=" + cpus);
      }
    }
  }
}

}  // namespace
}  // namespace dllaunch
