// Compares our answers with what sites and tools published about their nodes.
#include <fstream>

#include <gtest/gtest.h>

#include "support/json.hpp"
#include "tests/support/json_file.hpp"
#include "tests/topology/node/machines.hpp"
#include "tests/topology/placement/invariants.hpp"
#include "topology/discovery/discover_hwloc.hpp"
#include "topology/render/masks.hpp"

namespace dllaunch {
namespace {

class PublishedAnswers : public testing::Test {
 protected:
  void SetUp() override {
    if (captured_files().empty()) GTEST_SKIP() << "no captured topologies beside the repository";
  }

  static Topology node(const std::string& id) {
    auto topology = topology_from_xml(captured(id));
    if (!topology) {
      ADD_FAILURE() << topology.error().what;
      return {};
    }
    return *std::move(topology);
  }

  static Json expected(const std::string& name) {
    const auto any = captured("x");
    return json_of_file(any.substr(0, any.size() - 5) + "expected/" + name + ".json");
  }
};

std::size_t at(int i) {
  return static_cast<std::size_t>(i);
}

std::string bus_of(const Gpu& gpu) {
  return gpu.pci.substr(5, 2);
}

TEST_F(PublishedAnswers, LumiG) {
  const auto blade = node("tioga-mi250x-lownoise");
  const auto cases = expected("site.lumi-g")["cases"];
  EXPECT_EQ(srun_map_cpu(placed(blade, {.mode = BindMode::core})),
            cases[0]["srun_option"].get<std::string>().substr(11));
  const auto seven = placed(blade, {});
  EXPECT_EQ(srun_map_cpu(seven), "map_cpu:49,57,17,25,1,9,33,41");
  for (const auto& task : cases[1]["tasks"]) {
    const auto& rank = seven.ranks[at(task["task"])];
    EXPECT_EQ(to_mask(rank.cpus), task["mask"].get<std::string>());
    EXPECT_EQ(rank.gpus[0], task["gpus"][0].get<int>());
  }
  // The whole blade, with LUMI's reservation.
  EXPECT_EQ(srun_cpu_bind(placed(node("tioga-mi250x"), {.reserve = "first-core-per-l3"})),
            srun_cpu_bind(seven));
}

TEST_F(PublishedAnswers, EveryGcdHasItsOwnL3) {
  const auto seats = placed(node("tioga-mi250x"), {});
  ASSERT_EQ(seats.ranks.size(), 8u);
  EXPECT_EQ(to_list(seats.ranks[0].cpus), "48-55");
  EXPECT_EQ(to_list(seats.ranks[1].cpus), "56-63");
}

TEST_F(PublishedAnswers, Frontier) {
  const auto blade = node("tioga-mi250x-lownoise");
  const auto placement = placed(blade, {.order = RankOrder::numa});
  const auto tasks = expected("site.frontier")["cases"][0]["tasks"];
  for (const auto& task : tasks) {
    const auto& rank = placement.ranks[at(task["task"])];
    EXPECT_EQ(to_list(rank.cpus), task["observed_cpus"].get<std::string>());
    const auto& gpu = blade.gpus[at(rank.gpus[0])];
    EXPECT_EQ(gpu.index, task["gpus"][0].get<int>());
    EXPECT_EQ(bus_of(gpu), task["bus"][0].get<std::string>());
  }
}

TEST_F(PublishedAnswers, FrontierSevenTasksAGpu) {
  const auto blade = node("tioga-mi250x-lownoise");
  const auto placement = placed(blade, {.ranks = 56, .order = RankOrder::numa});
  const auto tasks = expected("site.frontier")["cases"][2]["tasks"];
  for (const auto& task : tasks) {
    const auto& rank = placement.ranks[at(task["task"])];
    EXPECT_EQ(to_list(rank.cpus), task["observed_cpus"].get<std::string>());
    EXPECT_EQ(blade.gpus[at(rank.gpus[0])].index, task["gpus"][0].get<int>());
  }
}

TEST_F(PublishedAnswers, MpibindFourTasksOnTioga) {
  const auto blade = node("tioga-mi250x");
  const auto placement = placed(blade, {.ranks = 4, .order = RankOrder::numa});
  const auto tasks = expected("mpibind-tutorial.tioga-mi250x")["cases"][0]["tasks"];
  for (const auto& task : tasks) {
    const auto& rank = placement.ranks[at(task["task"])];
    EXPECT_EQ(to_list(rank.cpus), task["cpus"].get<std::string>());
    EXPECT_EQ(rank.gpus, task["gpus"].get<std::vector<int>>());
  }
}

TEST_F(PublishedAnswers, Polaris) {
  const auto polaris = node("alcf-polaris");
  const auto answer = expected("site.polaris");
  const auto along = placed(polaris, {.order = RankOrder::numa});
  for (const auto& task : answer["cases"][0]["tasks"]) {
    const auto& rank = along.ranks[at(task["task"])];
    EXPECT_EQ(to_list(rank.cpus), task["cpus"].get<std::string>());
    EXPECT_EQ(rank.gpus, task["gpus"].get<std::vector<int>>());
  }
  const auto by_gpu = placed(polaris, {});
  EXPECT_EQ(by_gpu.ranks[1].nic, "mlx5_1");
  EXPECT_EQ(by_gpu.ranks[3].nic, "mlx5_0");
}

TEST_F(PublishedAnswers, Aurora) {
  const auto aurora = node("alcf-aurora");
  const auto tasks = expected("site.aurora")["cases"][1]["tasks"];
  for (const auto& task : tasks) {
    // The site leaves cores 0, 52 and the last ones of each socket to the system.
    const auto placement = placed(aurora, {.reserve = "0,49-52,101-103"});
    EXPECT_EQ(to_list(placement.ranks[at(task["task"])].cpus), task["cpus"].get<std::string>());
  }
}

TEST_F(PublishedAnswers, Lassen) {
  const auto lassen = node("lassen-p9-4v100");
  const auto cases = expected("mpibind.lassen-p9-4v100")["cases"];
  for (const int which : {2, 6}) {
    const auto placement = placed(lassen, {.ranks = 2, .smt = which == 6});
    for (const auto& task : cases[at(which)]["tasks"])
      EXPECT_EQ(to_list(placement.ranks[at(task["task"])].cpus), task["cpus"].get<std::string>());
  }
}

TEST_F(PublishedAnswers, PrrteOneCoreBesideEachGpu) {
  const auto turin = node("turin-4h200");
  const auto placement = placed(turin, {.mode = BindMode::core, .smt = true});
  const auto cases = expected("prrte.turin-4h200")["cases"];
  for (const auto& answer : cases) {
    if (answer["name"] != "device.turin-4gpu-nvml.gpu") continue;
    for (const auto& task : answer["tasks"])
      EXPECT_EQ(to_list(placement.ranks[at(task["rank"])].cpus), task["cpus"].get<std::string>());
  }
}

TEST_F(PublishedAnswers, DgxA100) {
  const auto dgx = node("dgx-a100");
  const auto table = expected("gpu-table.dgx-a100");
  const auto placement = placed(dgx, {});
  for (const auto& rank : placement.ranks) {
    const auto gpu = std::to_string(rank.local_rank);
    EXPECT_EQ(rank.numa, IdSet{table["gpus"][gpu]["numa"].get<int>()});
    EXPECT_TRUE(parse_id_list(table["gpus"][gpu]["cpus"].get<std::string>())->contains(rank.cpus));
    const auto near = table["gpu_to_closest_hca"][gpu].get<std::vector<std::string>>();
    EXPECT_NE(std::find(near.begin(), near.end(), rank.nic), near.end()) << rank.nic;
  }
}

TEST_F(PublishedAnswers, CoralQuartzOneTaskACore) {
  for (const auto* id : {"quartz-nogpu", "coral-ea-p8-4p100"}) {
    const auto answer = expected(std::string("mpibind.") + id)["cases"][0];
    const auto machine = node(id);
    const auto ranks = answer["params"]["ntasks"].get<int>();
    const auto placement = placed(machine, {.ranks = ranks, .gpus = 0});
    for (const auto& task : answer["tasks"])
      EXPECT_EQ(to_list(placement.ranks[at(task["task"])].cpus), task["cpus"].get<std::string>());
  }
}

}  // namespace
}  // namespace dllaunch
