#include "trainer/backends/gpu/layers/convolution_choice.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <thread>

#include "gpu_api.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch::gpu {
namespace {

// The weights are the largest array, so that arrays do not lie in the order of their names.
const ConvolutionShape shape{.type = DType::f32,
                             .x = {1, 1, 2, 2, 100},
                             .y = {1, 1, 1, 1, 200},
                             .window = {{1, 2, 2}, {1, 1, 1}, {0, 0, 0}}};

TEST(ConvolutionChoice, IsTheFastestOnZeros) {
  const std::vector<std::size_t> workspaces = {64, 4096, 0};
  for (std::size_t fast = 0; fast < workspaces.size(); ++fast) {
    const auto chosen =
        fastest_way(shape, workspaces, [&](std::size_t way, const ConvolutionMemory& memory) {
          for (const auto& [array, elements] :
               {std::pair(memory.x, 400), std::pair(memory.w, 80'000), std::pair(memory.y, 200)}) {
            EXPECT_TRUE(gpu_owns(array));
            const auto* const values = static_cast<const float*>(array);
            EXPECT_EQ(values[0], 0);
            EXPECT_EQ(values[elements - 1], 0);
          }
          std::memset(memory.workspace, 0xFF, workspaces[way]);
          if (way != fast) std::this_thread::sleep_for(std::chrono::milliseconds(10));
          return true;
        });
    ASSERT_TRUE(chosen);
    EXPECT_EQ(chosen->way, fast);
    EXPECT_TRUE(chosen->settled);
  }
}

TEST(ConvolutionChoice, TheOnlyOneAndTheFirstWithoutRoomAreNotTried) {
  const auto never = [](std::size_t, const ConvolutionMemory&) {
    ADD_FAILURE() << "tried";
    return true;
  };
  const auto alone = fastest_way(shape, std::vector<std::size_t>{64}, never);
  ASSERT_TRUE(alone);
  EXPECT_EQ(alone->way, 0U);
  EXPECT_TRUE(alone->settled);
  const std::size_t all = host_gpus().bytes_each;
  host_gpus().bytes_each = 1000;
  const auto first = fastest_way(shape, std::vector<std::size_t>{64, 64}, never);
  host_gpus().bytes_each = all;
  ASSERT_TRUE(first);
  EXPECT_EQ(first->way, 0U);
  EXPECT_FALSE(first->settled) << "an empty GPU is to be asked again";
}

/// A library may take a convolution and fail at it.
TEST(ConvolutionChoice, WaysThatFailAreOut) {
  for (std::size_t works = 0; works < 3; ++works) {
    const auto chosen =
        fastest_way(shape, std::vector<std::size_t>{0, 0, 0},
                    [&](std::size_t way, const ConvolutionMemory&) { return way == works; });
    ASSERT_TRUE(chosen);
    EXPECT_EQ(chosen->way, works);
  }
  EXPECT_FALSE(fastest_way(shape, std::vector<std::size_t>{0, 0},
                           [](std::size_t, const ConvolutionMemory&) { return false; }));
}

TEST(ConvolutionChoice, OneThatIsHopelessIsTriedOnce) {
  int calls = 0;
  fastest_way(shape, std::vector<std::size_t>{0, 0}, [&](std::size_t way, const auto&) {
    if (way == 0) return true;
    ++calls;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return true;
  });
  EXPECT_EQ(calls, 2) << "the first call may compile";
}

TEST(ConvolutionChoice, IsKeptByKey) {
  const TemporaryFolder folder;
  const PlanChoice choice{[&](const std::string& name) -> std::optional<std::string> {
                            if (name == "XDG_CACHE_HOME") return folder.path();
                            return std::nullopt;
                          },
                          "model"};
  EXPECT_EQ(known_way(choice, "one"), std::nullopt);
  keep_way(choice, "one", 41);
  keep_way(choice, "two", 42);
  EXPECT_EQ(known_way(choice, "one"), 41);
  EXPECT_EQ(known_way(choice, "two"), 42);
  const PlanChoice nowhere{[](const std::string&) { return std::nullopt; }, "model"};
  keep_way(nowhere, "one", 43);
  EXPECT_EQ(known_way(nowhere, "one"), std::nullopt);
}

}  // namespace
}  // namespace dllaunch::gpu
