#include "trainer/backends/gpu/layers/convolution_autotune.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <thread>

#include "gpu_api.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch::gpu {
namespace {

// The weights are the largest array, so memory order differs from argument order.
const ConvolutionShape shape{.type = DType::f32,
                             .x = {1, 1, 2, 2, 100},
                             .y = {1, 1, 1, 1, 200},
                             .window = {{1, 2, 2}, {1, 1, 1}, {0, 0, 0}}};

TEST(ConvolutionAutotune, PicksTheFastestOnZeros) {
  const std::vector<std::size_t> workspaces = {64, 4096, 0};
  for (std::size_t fast = 0; fast < workspaces.size(); ++fast) {
    const auto chosen = fastest_algorithm(
        shape, workspaces, [&](std::size_t index, const ConvolutionMemory& memory) {
          for (const auto& [array, elements] :
               {std::pair(memory.x, 400), std::pair(memory.w, 80'000), std::pair(memory.y, 200)}) {
            EXPECT_TRUE(gpu_owns(array));
            const auto* const values = static_cast<const float*>(array);
            EXPECT_EQ(values[0], 0);
            EXPECT_EQ(values[elements - 1], 0);
          }
          std::memset(memory.workspace, 0xFF, workspaces[index]);
          if (index != fast) std::this_thread::sleep_for(std::chrono::milliseconds(10));
          return true;
        });
    ASSERT_TRUE(chosen);
    EXPECT_EQ(chosen->index, fast);
    EXPECT_TRUE(chosen->cacheable);
  }
}

TEST(ConvolutionAutotune, OneCandidateOrNoMemoryMeansNoTrial) {
  const auto never = [](std::size_t, const ConvolutionMemory&) {
    ADD_FAILURE() << "tried";
    return true;
  };
  const auto alone = fastest_algorithm(shape, std::vector<std::size_t>{64}, never);
  ASSERT_TRUE(alone);
  EXPECT_EQ(alone->index, 0U);
  EXPECT_TRUE(alone->cacheable);
  const std::size_t all = host_gpus().bytes_each;
  host_gpus().bytes_each = 1000;
  const auto first = fastest_algorithm(shape, std::vector<std::size_t>{64, 64}, never);
  host_gpus().bytes_each = all;
  ASSERT_TRUE(first);
  EXPECT_EQ(first->index, 0U);
  EXPECT_FALSE(first->cacheable) << "must be measured again when the GPU has memory";
}

/// A library may accept a convolution and then fail to run it.
TEST(ConvolutionAutotune, DropsAlgorithmsThatFail) {
  for (std::size_t works = 0; works < 3; ++works) {
    const auto chosen = fastest_algorithm(
        shape, std::vector<std::size_t>{0, 0, 0},
        [&](std::size_t index, const ConvolutionMemory&) { return index == works; });
    ASSERT_TRUE(chosen);
    EXPECT_EQ(chosen->index, works);
  }
  EXPECT_FALSE(fastest_algorithm(shape, std::vector<std::size_t>{0, 0},
                                 [](std::size_t, const ConvolutionMemory&) { return false; }));
}

TEST(ConvolutionAutotune, TriesASlowAlgorithmOnce) {
  int calls = 0;
  fastest_algorithm(shape, std::vector<std::size_t>{0, 0}, [&](std::size_t index, const auto&) {
    if (index == 0) return true;
    ++calls;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return true;
  });
  EXPECT_EQ(calls, 2) << "the first call may compile";
}

TEST(ConvolutionAutotune, CachesByKey) {
  const TemporaryFolder folder;
  const AutotuneCache cache{[&](const std::string& name) -> std::optional<std::string> {
                              if (name == "XDG_CACHE_HOME") return folder.path();
                              return std::nullopt;
                            },
                            "model"};
  EXPECT_EQ(cached_algorithm(cache, "one"), std::nullopt);
  cache_algorithm(cache, "one", 41);
  cache_algorithm(cache, "two", 42);
  EXPECT_EQ(cached_algorithm(cache, "one"), 41);
  EXPECT_EQ(cached_algorithm(cache, "two"), 42);
  const AutotuneCache nowhere{[](const std::string&) { return std::nullopt; }, "model"};
  cache_algorithm(nowhere, "one", 43);
  EXPECT_EQ(cached_algorithm(nowhere, "one"), std::nullopt);
}

}  // namespace
}  // namespace dllaunch::gpu
