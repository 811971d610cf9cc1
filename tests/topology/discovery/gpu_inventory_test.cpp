#include "topology/discovery/gpu_inventory.hpp"

#include <gtest/gtest.h>

#include "support/json.hpp"
#include "tests/topology/discovery/fake_libraries.hpp"
#include "tests/topology/node/machines.hpp"
#include "topology/discovery/topology_format.hpp"

namespace dllaunch {
namespace {

using std::chrono::milliseconds;

// Two domains with equal buses, as hwloc sees them: numbered in PCI order, without UUIDs.
Topology two_domains() {
  auto node = machine("packages:2 cores:4 gpus:4");
  const char* addresses[] = {"0000:07:00.0", "0000:0f:00.0", "0001:07:00.0", "0001:0f:00.0"};
  for (std::size_t i = 0; i < 4; ++i) node.gpus[i].pci = addresses[i];
  return node;
}

VendorLibrary says(std::vector<Gpu> gpus) {
  return {.name = "test", .file = "test.so", .found = true, .gpus = std::move(gpus)};
}

Gpu nvidia(int index, const std::string& pci, int partition = -1) {
  return {.index = index,
          .vendor = "nvidia",
          .pci = pci,
          .partition = partition,
          .uuid = "GPU-" + std::to_string(index)};
}

// ---- merging --------------------------------------------------------------------------------

TEST(WithInventory, GoesByAddressNotByNumber) {
  const auto before = two_domains();
  const auto node =
      with_inventory(before, {says({nvidia(0, "0001:0f:00.0"), nvidia(1, "0001:07:00.0"),
                                    nvidia(2, "0000:0f:00.0"), nvidia(3, "0000:07:00.0")})});
  ASSERT_EQ(node.gpus.size(), 4u);
  EXPECT_EQ(node.gpus[0].pci, "0001:0f:00.0");
  EXPECT_EQ(node.gpus[0].uuid, "GPU-0");
  EXPECT_EQ(node.gpus[0].cpus, before.gpus[3].cpus) << "its place is what hwloc found";
  EXPECT_EQ(node.gpus[0].name, before.gpus[3].name);
  EXPECT_EQ(node.gpus[3].pci, "0000:07:00.0");
}

TEST(WithInventory, ChangesNothingWithoutAnAnswer) {
  const auto before = two_domains();
  EXPECT_EQ(to_json(with_inventory(before, {})), to_json(before));
  EXPECT_EQ(to_json(with_inventory(before, {says({}), {.name = "x", .why = "gone"}})),
            to_json(before));
}

TEST(WithInventory, MakesOneGpuOfEveryMigInstance) {
  auto cut = nvidia(1, "0000:0f:00.0", 0);
  cut.mode = "MIG";
  cut.name = "MIG 3g";
  cut.uuid = "MIG-a";
  auto other = cut;
  other.index = 2;
  other.partition = 1;
  other.uuid = "MIG-b";
  const auto before = two_domains();
  const auto node =
      with_inventory(before, {says({nvidia(0, "0000:07:00.0"), cut, other,
                                    nvidia(3, "0001:07:00.0"), nvidia(4, "0001:0f:00.0")})});
  ASSERT_EQ(node.gpus.size(), 5u);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(node.gpus[static_cast<std::size_t>(i)].index, i);
  EXPECT_EQ(node.gpus[1].partition, 0);
  EXPECT_EQ(node.gpus[2].partition, 1);
  EXPECT_EQ(node.gpus[2].uuid, "MIG-b");
  EXPECT_EQ(node.gpus[2].name, "MIG 3g");
  EXPECT_EQ(node.gpus[2].cpus, before.gpus[1].cpus);
  EXPECT_EQ(node.gpus[3].partition, -1);
}

TEST(WithInventory, MatchesPartitionsThatBothSee) {
  auto node = two_domains();
  node.gpus.resize(2);
  for (int i = 0; i < 2; ++i) {
    auto& gpu = node.gpus[static_cast<std::size_t>(i)];
    gpu.pci = "0000:c1:00.0";
    gpu.vendor = "amd";
    gpu.partition = i;
    gpu.index = i;
  }
  auto first = nvidia(5, "0000:c1:00.0", 0);
  auto second = nvidia(4, "0000:c1:00.0", 1);
  first.vendor = second.vendor = "amd";
  const auto merged = with_inventory(node, {says({second, first})});
  ASSERT_EQ(merged.gpus.size(), 2u);
  EXPECT_EQ(merged.gpus[0].partition, 1);
  EXPECT_EQ(merged.gpus[0].uuid, "GPU-4");
  EXPECT_EQ(merged.gpus[1].partition, 0);
  // A process that may use only one of the two.
  auto one = nvidia(1, "0000:c1:00.0");
  one.vendor = "amd";
  const auto few = with_inventory(node, {says({one})});
  ASSERT_EQ(few.gpus.size(), 2u);
  EXPECT_EQ(few.gpus[0].uuid, "");
  EXPECT_EQ(few.gpus[1].uuid, "GPU-1");
  EXPECT_EQ(few.gpus[1].partition, 1);
}

TEST(WithInventory, AddsAGpuThatOnlyTheLibrarySaw) {
  const auto node = with_inventory(machine("cores:4"), {says({nvidia(0, "0000:07:00.0")})});
  ASSERT_EQ(node.gpus.size(), 1u);
  EXPECT_EQ(node.gpus[0].cpus, node.cpus());
  EXPECT_TRUE(node.gpus[0].numa.empty());
  EXPECT_EQ(node.gpus[0].partition, -1);
}

TEST(WithInventory, NumbersAroundGpusThatTheLibraryDoesNotShow) {
  // A job with the last two GPUs: the runtime numbers them from 0.
  const auto node =
      with_inventory(two_domains(), {says({nvidia(0, "0001:07:00.0"), nvidia(1, "0001:0f:00.0")})});
  ASSERT_EQ(node.gpus.size(), 4u);
  EXPECT_EQ(node.gpus[0].pci, "0001:07:00.0");
  EXPECT_EQ(node.gpus[1].pci, "0001:0f:00.0");
  EXPECT_EQ(node.gpus[2].pci, "0000:07:00.0");
  EXPECT_EQ(node.gpus[2].index, 2);
  EXPECT_EQ(node.gpus[3].index, 3);
}

TEST(WithInventory, LearnsAVendorThatACaptureLeftOut) {
  auto node = two_domains();
  for (auto& gpu : node.gpus) gpu.vendor = "other";
  EXPECT_EQ(with_inventory(node, {says({nvidia(0, "0000:07:00.0")})}).gpus[0].vendor, "nvidia");
}

TEST(WithInventory, SurvivesALibraryThatRepeatsItself) {
  const auto node =
      with_inventory(two_domains(), {says({nvidia(0, "0000:07:00.0"), nvidia(0, "0000:07:00.0")})});
  EXPECT_EQ(node.gpus.size(), 5u);
}

// ---- queries --------------------------------------------------------------------------------

TEST(ObserveGpus, AsksBothLibrariesInChildren) {
  const FakeGpus usual("");
  const auto libraries = observe_gpus({.nvml = fake_nvml, .rocm_smi = fake_rocm_smi});
  ASSERT_EQ(libraries.size(), 2u);
  EXPECT_EQ(libraries[0].name, "NVML");
  EXPECT_EQ(libraries[0].gpus.size(), 4u);
  EXPECT_EQ(libraries[1].name, "ROCm SMI");
  ASSERT_EQ(libraries[1].gpus.size(), 2u);
  EXPECT_NE(libraries[1].gpus[0].name.find("Instinct"), std::string::npos) << "bytes, not text";
  const auto node = with_inventory(two_domains(), libraries);
  EXPECT_EQ(node.gpus.size(), 6u);
  EXPECT_EQ(node.gpus[0].links.size(), 3u);
  const auto again = topology_from_json(to_json(node));
  ASSERT_TRUE(again);
  EXPECT_EQ(to_json(*again), to_json(node));
}

TEST(ObserveGpus, OutlivesACrash) {
  const FakeGpus crash("crash");
  const auto libraries = observe_gpus({.nvml = fake_nvml, .rocm_smi = fake_rocm_smi});
  for (const auto& library : libraries) {
    EXPECT_TRUE(library.found);
    EXPECT_TRUE(library.gpus.empty());
    EXPECT_NE(library.why.find("asking " + library.file), std::string::npos) << library.why;
  }
}

TEST(ObserveGpus, DoesNotWaitForOneThatHangs) {
  const FakeGpus hang("hang");
  const auto start = std::chrono::steady_clock::now();
  const auto libraries =
      observe_gpus({.nvml = fake_nvml, .rocm_smi = fake_rocm_smi, .deadline = milliseconds(100)});
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
  for (const auto& library : libraries)
    EXPECT_NE(library.why.find("no answer after 100 ms"), std::string::npos) << library.why;
}

TEST(ObserveGpus, IsSilentWhereThereIsNoLibrary) {
  const auto libraries = observe_gpus({.nvml = "libno-such.so.1", .rocm_smi = "libno-such.so.2"});
  for (const auto& library : libraries) {
    EXPECT_FALSE(library.found);
    EXPECT_EQ(library.why, library.file + " is not on this machine");
    EXPECT_EQ(library.driver, "");
  }
}

}  // namespace
}  // namespace dllaunch
