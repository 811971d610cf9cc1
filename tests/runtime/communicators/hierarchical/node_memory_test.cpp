// Runs on 1 to 4 real ranks.
#include "runtime/communicators/hierarchical/node_memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/runtime/communicators/on_ranks.hpp"

namespace dllaunch {
namespace {

TEST(NodeMemory, IsZeroedAndSeenByAll) {
  const auto node = all_peers();
  constexpr std::size_t bytes = 100'001;
  const auto memory = *NodeMemory::make(*node, bytes);
  ASSERT_EQ(memory->pieces().size(), static_cast<std::size_t>(node->size()));
  const auto me = static_cast<std::size_t>(node->rank());
  for (const std::byte* piece : memory->pieces()) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(piece) % 4096, 0u);
    EXPECT_TRUE(std::all_of(piece, piece + bytes, [](std::byte b) { return b == std::byte{0}; }));
  }
  const std::vector<std::int64_t> nothing = {0};
  node->gather_all(nothing);
  std::fill_n(memory->pieces()[me], bytes, static_cast<std::byte>(me + 1));
  node->gather_all(nothing);
  for (std::size_t rank = 0; rank < memory->pieces().size(); ++rank) {
    EXPECT_EQ(memory->pieces()[rank][bytes - 1], static_cast<std::byte>(rank + 1));
  }
  node->gather_all(nothing);
}

TEST(NodeMemory, LeavesNoFileAndNoDescriptor) {
  const auto node = all_peers();
  const auto count = [](const char* folder) {
    return std::distance(std::filesystem::directory_iterator(folder), {});
  };
  const auto descriptors = count("/proc/self/fd");
  const std::vector<std::int64_t> nothing = {0};
  node->gather_all(nothing);
  const auto files = count("/dev/shm");
  node->gather_all(nothing);
  {
    const auto memory = *NodeMemory::make(*node, 1 << 20);
    node->gather_all(nothing);
    EXPECT_EQ(count("/proc/self/fd"), descriptors);
    EXPECT_EQ(count("/dev/shm"), files);
    node->gather_all(nothing);
  }
}

TEST(NodeMemory, RefusesMoreThanThereIsOnAllRanksAlike) {
  const auto node = all_peers();
  const auto memory = NodeMemory::make(*node, std::size_t{1} << 60);
  ASSERT_FALSE(memory);
  EXPECT_EQ(memory.error().kind, ErrorKind::unavailable);
  EXPECT_NE(memory.error().what.find("cannot share memory"), std::string::npos);
}

}  // namespace
}  // namespace dllaunch
