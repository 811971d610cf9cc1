// Runs on 1, 2, 3, 4 and 7 real ranks.
#include "runtime/gradients/gradient_compression.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/runtime/communicators/on_ranks.hpp"

namespace dllaunch {
namespace {

struct Arena {
  std::unique_ptr<Communicator> communicator = all_ranks();
  ArenaLayout layout = lay_out(DType::f32, std::vector<std::size_t>{10, 100});
  std::span<std::byte> memory = communicator->allocate(layout.bytes());
  std::span<float> values = {reinterpret_cast<float*>(memory.data()), layout.total};
  ArenaRange all = {0, layout.total};
};

TEST(GradientCompressor, WithoutCopiesIsTheGradientsThemselves) {
  Arena arena;
  std::ranges::fill(arena.values, 3.0F);
  GradientCompressor wire(*arena.communicator, arena.layout, arena.memory, Compression::none, 0);
  EXPECT_EQ(wire.type(), DType::f32);
  EXPECT_EQ(wire.at(0, 16), arena.memory.data() + 64);
  wire.pack(0, arena.all);
  wire.unpack(0, arena.all);
  EXPECT_TRUE(std::ranges::all_of(arena.values, [](float x) { return x == 3; }));
}

TEST(GradientCompressor, CopiesStandApart) {
  for (const Compression compression : {Compression::none, Compression::fp16, Compression::bf16}) {
    Arena arena;
    GradientCompressor wire(*arena.communicator, arena.layout, arena.memory, compression, 2);
    for (const int copy : {0, 1}) {
      std::ranges::fill(arena.values, static_cast<float>(copy + 1));
      wire.pack(copy, arena.all);
    }
    std::ranges::fill(arena.values, 9.0F);
    wire.unpack(0, {16, 32});  // only the requested range comes back
    EXPECT_EQ(arena.values[15], 9);
    EXPECT_EQ(arena.values[16], 1);
    EXPECT_EQ(arena.values[47], 1);
    EXPECT_EQ(arena.values[48], 9);
    wire.unpack(1, arena.all);
    EXPECT_TRUE(std::ranges::all_of(arena.values, [](float x) { return x == 2; }));
  }
}

TEST(GradientCompressor, KeepsWhatItRoundsOffForTheSameElement) {
  Arena arena;
  GradientCompressor wire(*arena.communicator, arena.layout, arena.memory, Compression::bf16, 1);
  const auto send = [&](float value, const ArenaRange& range) {
    std::ranges::fill(arena.values, value);
    wire.pack(0, range);
    wire.unpack(0, range);
    return arena.values[range.offset];
  };
  EXPECT_EQ(wire.type(), DType::bf16);
  EXPECT_EQ(send(1 + 0x1p-9F, {0, 16}), 1);
  EXPECT_EQ(send(1 + 0x1p-9F, {16, 16}), 1) << "its own residual, not its neighbour's";
  EXPECT_EQ(send(1 + 0x1p-9F, {0, 16}), 1) << "a tie rounds to even";
  EXPECT_EQ(send(1 + 0x1p-9F, {0, 16}), 1 + 0x1p-7F);
}

}  // namespace
}  // namespace dllaunch
