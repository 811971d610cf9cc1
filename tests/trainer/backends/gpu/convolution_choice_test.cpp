#include "trainer/backends/gpu/convolution_choice.hpp"

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
    const std::size_t chosen =
        fastest_way(shape, workspaces, [&](std::size_t way, const ConvolutionMemory& memory) {
          for (const auto& [array, elements] :
               {std::pair(memory.x, 400), std::pair(memory.w, 80'000), std::pair(memory.y, 200)}) {
            ASSERT_TRUE(gpu_owns(array));
            const auto* const values = static_cast<const float*>(array);
            ASSERT_EQ(values[0], 0);
            ASSERT_EQ(values[elements - 1], 0);
          }
          std::memset(memory.workspace, 0xFF, workspaces[way]);
          if (way != fast) std::this_thread::sleep_for(std::chrono::milliseconds(10));
        });
    EXPECT_EQ(chosen, fast);
  }
}

TEST(ConvolutionChoice, TheOnlyOneAndTheFirstWithoutRoomAreNotTried) {
  const auto never = [](std::size_t, const ConvolutionMemory&) { FAIL(); };
  EXPECT_EQ(fastest_way(shape, std::vector<std::size_t>{64}, never), 0U);
  const std::size_t all = host_gpus().bytes_each;
  host_gpus().bytes_each = 1000;
  EXPECT_EQ(fastest_way(shape, std::vector<std::size_t>{64, 64}, never), 0U);
  host_gpus().bytes_each = all;
}

TEST(ConvolutionChoice, OneThatIsHopelessIsTriedOnce) {
  int calls = 0;
  fastest_way(shape, std::vector<std::size_t>{0, 0}, [&](std::size_t way, const auto&) {
    if (way == 0) return;
    ++calls;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
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
