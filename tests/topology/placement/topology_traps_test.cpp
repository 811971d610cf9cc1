// Pitfalls of reading and using a node, each with its tests. Those without a file's name are in
// this file.
//
//  1 hwloc drops I/O by default            discover_hwloc: MergesWhatRuntimesSayOfOneGpu
//  2 a GPU's ancestor varies               discover_hwloc: Captures.AgreeWithTheirRecords;
//                                          node_drawing: HangsDevicesOffTheSmallestPart...
//  3 no local CPU is left                  placement: WidensWithAWarningIfNothingLocalIsLeft
//  4 GPU numbers differ from PCI order     discover_hwloc: FollowsTheRuntimesOrderNotPcis;
//                                          gpu_inventory: GoesByAddressNotByNumber
//  5 osdevs of many kinds                  EveryFlavourIsOneGpu, ThreeViewsAreOneGpu
//  6 many GPUs in one device, tiles        discover_hwloc: FindsPartitionsInsideOneDevice,
//                                          TilesAreNotGpus; gpu_inventory: ...EveryMigInstance
//  7 devices that are not GPUs             pci_gpu: all; discover_hwloc: NumbersInPciOrder...
//  8 equal buses in several domains        EqualBusesInTwoDomains; gpu_inventory: GoesByAddress...
//  9 memory without CPUs, GPU memory       MemoryOfAGpuIsNotItsNumaNode, MemoryWithoutCpus;
//                                          discover_hwloc: Captures.KeepMemoryAndCpusApart
// 10 numbers with gaps                     placement: SparseNumbersAreNumbersLikeOthers
// 11 uneven, offline, disallowed threads   OfflineCpusArePresentOnly, EveryDepthOfSmt;
//                                          discover_hwloc: LeavesDisallowedCpusOut;
//                                          hybrid-cores.json
// 12 L3s that do not divide                placement_invariants over l3-does-not-divide.json
// 13 all GPUs on one package               placement_invariants over gpus-on-one-package.json;
//                                          fill_cores: all
// 14 GPUs spread unevenly, two vendors     placement: UnevenGpusShareUnevenly; two-vendors.json;
//                                          discover_hwloc: CountsEachVendorForItself
// 15 allowed CPUs and memory disjoint      placement: NeedsNoMemoryBesideItsCpus
// 16 first cores reserved by the site      placement: DoesNotReserveTwiceWhatTheSiteTookAway
// 17 hwloc 3 and hwloc 1 XML               discover_hwloc: RecognisesHwloc3; ReadsHwloc1
// 18 VISIBLE_DEVICES                       visible_gpus: all
// 19 sched_setaffinity is per thread       runtime/binding: AppliesToThisThreadAndWhatItStarts
// 20 masks refer to the whole node         launcher/rank_shim: PlacesAnewOnASmallerNode
// 21 strict memory binding kills           masks: MemoryIsLocalWhereEachCpuHasSome;
//                                          renderings: ALineARankPrefersItsMemory
// 22 one node seen by two hwlocs           placement_invariants: TheSameNodeSeenByTwoHwlocs...
// 23 hwloc crashes on damaged XML          isolated_call: all; SurvivesDamagedXml; fuzz.hwloc_xml
#include <fstream>

#include <gtest/gtest.h>

#include "tests/support/temporary_folder.hpp"
#include "tests/topology/discovery/xml_node.hpp"
#include "tests/topology/node/machines.hpp"
#include "tests/topology/placement/invariants.hpp"
#include "topology/discovery/discover_hwloc.hpp"

namespace dllaunch {
namespace {

Topology read(const std::string& xml) {
  static const TemporaryFolder folder;
  const auto path = folder.path() + "/trap.xml";
  std::ofstream(path) << xml;
  auto topology = topology_from_xml(path);
  if (!topology) {
    ADD_FAILURE() << topology.error().what;
    return {};
  }
  return *std::move(topology);
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

struct Flavour {
  const char* name;
  std::string osdevs;
  int index;  // of the second of two GPUs; its number is 3 if it has one
};

void PrintTo(const Flavour& one, std::ostream* out) {
  *out << one.name;
}

class GpuFlavours : public testing::TestWithParam<Flavour> {};

TEST_P(GpuFlavours, EveryFlavourIsOneGpu) {
  const auto node = read(xml_node(pci_device(0x01, "0302 [0000:0000]") +
                                  pci_device(0x41, "0302 [0000:0000]", GetParam().osdevs)));
  ASSERT_EQ(node.gpus.size(), 2u);
  const auto& gpu = node.gpus[0].pci == "0000:41:00.0" ? node.gpus[0] : node.gpus[1];
  EXPECT_EQ(gpu.pci, "0000:41:00.0");
  EXPECT_EQ(gpu.index, GetParam().index);
  EXPECT_EQ(gpu.partition, -1);
}

INSTANTIATE_TEST_SUITE_P(
    Topology, GpuFlavours,
    testing::Values(Flavour{"none", "", 1}, Flavour{"cuda", osdev("cuda3", coproc_type), 3},
                    Flavour{"nvml", osdev("nvml3", gpu_type), 3},
                    Flavour{"nvml_coproc", osdev("nvml3", coproc_type), 3},
                    Flavour{"rsmi", osdev("rsmi3", gpu_type), 3},
                    Flavour{"rsmi_coproc", osdev("rsmi3", coproc_type), 3},
                    Flavour{"opencl", osdev("opencl0d3", coproc_type), 1},
                    Flavour{"level_zero",
                            osdev("ze3", coproc_type, osdev("ze3.0", 5) + osdev("ze3.1", 5)), 3},
                    Flavour{"card", osdev("card3", gpu_type), 1},
                    Flavour{"render", osdev("card4", gpu_type) + osdev("renderD131", gpu_type), 1}),
    [](const auto& flavour) { return flavour.param.name; });

TEST(TopologyTraps, ThreeViewsAreOneGpu) {
  const auto node =
      read(xml_node(pci_device(0x01, "0302 [10de:20b0]",
                               osdev("cuda1", coproc_type) + osdev("nvml0", gpu_type) +
                                   osdev("opencl0d1", coproc_type) + osdev("card0", gpu_type)) +
                    pci_device(0x02, "0302 [10de:20b0]",
                               osdev("cuda0", coproc_type) + osdev("nvml1", gpu_type))));
  ASSERT_EQ(node.gpus.size(), 2u);
  EXPECT_EQ(node.gpus[0].pci, "0000:01:00.0") << "CUDA counts the fastest first, NVML does not";
}

TEST(TopologyTraps, EqualBusesInTwoDomains) {
  const auto node = read(xml_node(pci_device(0x01, "1200 [1002:74a0]", osdev("rsmi1", gpu_type)) +
                                  pci_device(0x01, "1200 [1002:74a0]", osdev("rsmi0", gpu_type),
                                             /*domain=*/1)));
  ASSERT_EQ(node.gpus.size(), 2u);
  EXPECT_EQ(node.gpus[0].pci, "0001:01:00.0");
  EXPECT_EQ(node.gpus[1].pci, "0000:01:00.0");
}

// The package of xml_node() with a second NUMA node.
std::string with_second_node(const std::string& devices, const std::string& attributes) {
  auto xml = xml_node(devices);
  replace_all(xml, "nodeset=\"0x1\"", "nodeset=\"0x3\"");
  const auto first = xml.find("<object type=\"NUMANode\"");
  const auto end = xml.find("/>\n", first) + 3;
  auto node = xml.substr(first, end - first);
  auto second = node;
  replace_all(node, "nodeset=\"0x3\"", "nodeset=\"0x1\"");
  replace_all(second, "nodeset=\"0x3\"", "nodeset=\"0x2\"");
  replace_all(second, "os_index=\"0\"", "os_index=\"1\" " + attributes);
  replace_all(second, "gp_index=\"3\"", "gp_index=\"5\"");
  return xml.substr(0, first) + node + second + xml.substr(end);
}

TEST(TopologyTraps, MemoryOfAGpuIsNotItsNumaNode) {
  const auto node =
      read(with_second_node(pci_device(0x01, "0302 [10de:2342]"), "subtype=\"GPUMemory\""));
  ASSERT_EQ(node.numa.size(), 2u);
  EXPECT_EQ(node.numa[1].kind, "gpu");
  EXPECT_TRUE(node.numa[1].cpus.empty());
  EXPECT_EQ(node.numa_of(node.cpus()), IdSet{0});
  ASSERT_EQ(node.gpus.size(), 1u);
  EXPECT_EQ(node.gpus[0].numa, IdSet{0});
}

TEST(TopologyTraps, MemoryWithoutCpus) {
  auto xml = with_second_node("", "subtype=\"CXL-DRAM\"");
  const auto second = xml.find("os_index=\"1\" subtype");
  xml.replace(xml.find(" cpuset=\"0xf\"", second), 13, " cpuset=\"0x0\"");
  const auto node = read(xml);
  ASSERT_EQ(node.numa.size(), 2u);
  EXPECT_TRUE(node.numa[1].cpus.empty());
  EXPECT_EQ(placed(node, {}).ranks.size(), 1u) << "no rank for a node without CPUs";
}

TEST(TopologyTraps, OfflineCpusArePresentOnly) {
  auto xml = xml_node("");
  replace_all(xml, "complete_cpuset=\"0xf\"", "complete_cpuset=\"0x1f\"");
  const auto node = read(xml);
  EXPECT_EQ(node.cpus(), IdSet::range(0, 3));
  EXPECT_EQ(node.allowed_cpus, IdSet::range(0, 3));
  EXPECT_EQ(node.present_cpus, IdSet::range(0, 4));
}

TEST(TopologyTraps, EveryDepthOfSmt) {
  for (const int threads : {1, 2, 4, 8}) {
    const auto node = machine("packages:2 cores:10 gpus:4 threads:" + std::to_string(threads));
    for (int ranks = 1; ranks <= 20 * threads; ranks += 3) {
      SCOPED_TRACE(std::to_string(ranks) + " ranks, SMT" + std::to_string(threads));
      const auto first = placed(node, {.ranks = ranks});
      const auto all = placed(node, {.ranks = ranks, .smt = true});
      if (ranks > 20) continue;
      for (std::size_t r = 0; r < first.ranks.size(); ++r)
        EXPECT_EQ(all.ranks[r].cpus.size(), threads * first.ranks[r].cpus.size());
    }
  }
}

TEST(TopologyTraps, ReadsHwloc1) {
  const auto sets = [](const char* cpus, const char* nodes) {
    std::string text;
    for (const char* key : {"cpuset", "complete_cpuset", "online_cpuset", "allowed_cpuset"})
      text += std::string(" ") + key + "=\"" + cpus + "\"";
    for (const char* key : {"nodeset", "complete_nodeset", "allowed_nodeset"})
      text += std::string(" ") + key + "=\"" + nodes + "\"";
    return text;
  };
  std::string xml = "<?xml version=\"1.0\"?>\n<topology>\n<object type=\"Machine\" os_index=\"0\"" +
                    sets("0x3", "0x3") + ">\n";
  for (int i = 0; i < 2; ++i) {
    const auto own = sets(i == 0 ? "0x1" : "0x2", i == 0 ? "0x1" : "0x2");
    const auto number = " os_index=\"" + std::to_string(i) + "\"" + own;
    xml += "<object type=\"NUMANode\"" + number + " local_memory=\"1073741824\">\n";
    xml += "<object type=\"Socket\"" + number + ">\n<object type=\"Core\"" + number +
           ">\n<object type=\"PU\"" + number + "/>\n</object>\n</object>\n";
    if (i == 1)
      xml +=
          "<object type=\"Bridge\" os_index=\"0\" bridge_type=\"0-1\" depth=\"0\" "
          "bridge_pci=\"0000:[00-ff]\">\n<object type=\"PCIDev\" os_index=\"16\" name=\"GPU\" "
          "pci_busid=\"0000:01:00.0\" pci_type=\"0302 [10de:15f9] [10de:0000] a1\" "
          "pci_link_speed=\"0.0\"/>\n</object>\n";
    xml += "</object>\n";
  }
  const auto node = read(xml + "</object>\n</topology>\n");
  EXPECT_EQ(node.packages, 2);
  EXPECT_EQ(node.cores.size(), 2u);
  ASSERT_EQ(node.numa.size(), 2u);
  EXPECT_EQ(node.numa[1].cpus, IdSet{1});
  ASSERT_EQ(node.gpus.size(), 1u);
  EXPECT_EQ(node.gpus[0].numa, IdSet{1});
  EXPECT_EQ(node.gpus[0].cpus, IdSet{1});
}

}  // namespace
}  // namespace dllaunch
