#include "trainer/backends/gpu/memory/pinned_pool.hpp"

#include <gtest/gtest.h>

#include "gpu_api.hpp"

namespace dllaunch::gpu {
namespace {

TEST(PinnedPool, GivesTheSameMemoryAgain) {
  const std::size_t before = host_gpus().pinned;
  {
    PinnedPool pool;
    const std::byte* const first = pool.allocate(4096).get();
    EXPECT_EQ(pool.allocate(4096).get(), first) << "it had been given back";
    const auto held = pool.allocate(4096);
    EXPECT_EQ(held.get(), first);
    EXPECT_NE(pool.allocate(4096).get(), first) << "it is in use";
    EXPECT_NE(pool.allocate(8192), nullptr);
    EXPECT_EQ(host_gpus().pinned, before + 4096 + 4096 + 8192);
  }
  EXPECT_EQ(host_gpus().pinned, before);
}

TEST(PinnedPool, MemoryMayOutliveIt) {
  const std::size_t before = host_gpus().pinned;
  std::shared_ptr<std::byte> held;
  {
    PinnedPool pool;
    held = pool.allocate(64);
  }
  held.get()[63] = std::byte{1};
  held.reset();
  EXPECT_EQ(host_gpus().pinned, before);
}

TEST(PinnedPool, SaysWhenTheSystemRefuses) {
  PinnedPool pool;
  host_gpus().refuses_pinning = true;
  EXPECT_EQ(pool.allocate(64), nullptr);
  host_gpus().refuses_pinning = false;
  EXPECT_NE(pool.allocate(64), nullptr);
}

}  // namespace
}  // namespace dllaunch::gpu
