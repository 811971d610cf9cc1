#include "launcher/plan/node_memory.hpp"

#include <gtest/gtest.h>

namespace dllaunch {
namespace {

using Option = std::pair<std::string, std::string>;

JobMemory memory(MemoryPer per, std::string amount) {
  return {.per = per, .amount = std::move(amount)};
}

NodeType with_memory(std::uint64_t mib) {
  return {.memory_mib = mib};
}

std::string problem(const JobMemory& wanted, const NodeCounts& counts, const NodeChoice& nodes) {
  const auto enough = check_memory(wanted, counts, nodes);
  return enough ? "none" : enough.error().what + " (" + enough.error().hint + ")";
}

TEST(NodeMemory, OfRanksIsThatOfTheirNode) {
  EXPECT_EQ(memory_option(memory(MemoryPer::node, "64G"), 8), Option("--mem", "64G"));
  EXPECT_EQ(memory_option(memory(MemoryPer::rank, "4G"), 8), Option("--mem", "32G"));
  EXPECT_EQ(memory_option(memory(MemoryPer::rank, "999999999T"), 65536),
            Option("--mem", "65535999934464T"));
  EXPECT_EQ(memory_option(memory(MemoryPer::gpu, "40G"), 8), Option("--mem-per-gpu", "40G"));
}

TEST(NodeMemory, IsCountedInMebibytes) {
  const NodeCounts counts{.ranks = 8, .gpus = 4};
  EXPECT_EQ(memory_of_node_mib(memory(MemoryPer::node, "64G"), counts), 65536);
  EXPECT_EQ(memory_of_node_mib(memory(MemoryPer::rank, "512K"), counts), 4);
  EXPECT_EQ(memory_of_node_mib(memory(MemoryPer::gpu, "1T"), counts), 4 * 1024 * 1024);
}

TEST(NodeMemory, ThatIsNotConfiguredIsNotKnown) {
  EXPECT_TRUE(has_memory(with_memory(0), 1e9));
  EXPECT_TRUE(has_memory(with_memory(1), 1e9));
  EXPECT_TRUE(has_memory(with_memory(1000), 1000));
  EXPECT_FALSE(has_memory(with_memory(1000), 1001));
}

TEST(NodeMemory, TooLittleOfItIsToldWithBothNumbers) {
  const auto thin = with_memory(262144);
  const auto fat = with_memory(491520);
  const NodeChoice two{.where = "nodes of partition gpu", .wanted = 2, .kinds = {{&fat, 4}}};
  EXPECT_EQ(problem(memory(MemoryPer::rank, "64G"), {.ranks = 8}, two),
            "asked for 64G of memory for each of 8 ranks on a node, 512 GiB together, nodes of "
            "partition gpu have 480 GiB (use --set resources.memory.per_rank=60GB, or name another "
            "resources.partition)");
  EXPECT_EQ(problem(memory(MemoryPer::gpu, "500G"), {.gpus = 1}, two),
            "asked for 500G of memory for each of 1 GPU on a node, 500 GiB together, nodes of "
            "partition gpu have 480 GiB (use --set resources.memory.per_gpu=480GB, or name another "
            "resources.partition)");
  EXPECT_EQ(problem(memory(MemoryPer::node, "480G"), {}, two), "none");
  NodeChoice mixed{.where = "nodes", .wanted = 2, .kinds = {{&thin, 4}, {&fat, 1}}};
  EXPECT_EQ(problem(memory(MemoryPer::node, "300G"), {}, mixed),
            "asked for 300G of memory on each node, nodes have 256 GiB (use --set "
            "resources.memory.per_node=256GB, or name another resources.partition)");
  mixed.wanted = 1;
  EXPECT_EQ(problem(memory(MemoryPer::node, "300G"), {}, mixed), "none");
  mixed.wanted = 9;
  EXPECT_EQ(problem(memory(MemoryPer::node, "300G"), {}, mixed), "none") << "too few nodes anyway";
}

}  // namespace
}  // namespace dllaunch
