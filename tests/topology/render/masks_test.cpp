#include "topology/render/masks.hpp"

#include <gtest/gtest.h>

#include "support/json.hpp"
#include "tests/topology/node/machines.hpp"
#include "tests/topology/placement/invariants.hpp"

namespace dllaunch {
namespace {

TEST(Masks, AreInLocalRankOrder) {
  const auto node = machine("packages:2 cores:8 gpus:2");
  const auto placement = placed(node, {});
  EXPECT_EQ(srun_cpu_bind(placement), "mask_cpu:0xff,0xff00");
  EXPECT_EQ(srun_map_cpu(placement), "map_cpu:0,8");
}

TEST(Masks, MemoryIsLocalWhereEachCpuHasSome) {
  auto node = machine("packages:2 cores:8 gpus:2");
  const auto placement = placed(node, {});
  EXPECT_EQ(srun_mem_bind(node, placement), "prefer,local") << "strict binding can kill";
  EXPECT_EQ(srun_mem_bind(node, placed(node, {.ranks = 1})), "none") << "CPUs of two nodes";
  auto forbidden = node;
  forbidden.allowed_numa = {0};
  EXPECT_EQ(srun_mem_bind(forbidden, placement), "none");
  auto without = node;
  without.numa[1].memory_bytes = 0;
  EXPECT_EQ(srun_mem_bind(without, placement), "none");
}

TEST(Masks, JsonIsTheContracts) {
  const auto node = fixture("eight-gcds-low-noise.json");
  const auto document = to_json(node, placed(node, {}));
  EXPECT_EQ(document["policy"], "closest");
  EXPECT_EQ(document["ranks"][0].dump(),
            R"({"local_rank":0,"gpus":[{"index":0,"pci":"0000:c1:00.0"}],"cpus":"49-55",)"
            R"("mask":"0xfe000000000000","numa":[3],"nic":"hsn0","why":"7 of 7 usable cores local )"
            R"(to GPU 0 (0000:c1:00.0) on NUMA node 3"})");
  EXPECT_EQ(document["srun"]["map_cpu"], "map_cpu:49,57,17,25,1,9,33,41");
  EXPECT_EQ(document["srun"]["mem_bind"], "prefer,local");
  EXPECT_EQ(document["warnings"], Json::array());
}

TEST(Masks, ThePageSaysTheSame) {
  auto node = machine("cores:2 gpus:1 nics:1");
  node.gpus[0].pci.clear();
  const std::string why =
      "1 of 2 usable cores local to GPU 0 on NUMA node 0, which 3 ranks divide\n";
  EXPECT_EQ(render_placement(node, placed(node, {.ranks = 3})),
            "RANK  GPU  CPUS  MASK  NUMA  NIC     WHY\n"
            "0     0    0     0x1   0     mlx5_0  " +
                why + "1     0    0     0x1   0     mlx5_0  " + why +
                "2     0    1     0x2   0     mlx5_0  " + why +
                "warning: ranks 0-1 share CPU 0: fewer usable CPUs are local to them\n");
}

}  // namespace
}  // namespace dllaunch
