// A graph compiled with the engines of tests/support/host_gpu, for tests of their choice.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/support/host_gpu/host_math.hpp"
#include "trainer/backends/gpu/step/gpu_executable.hpp"

namespace dllaunch::gpu {

/// For batches of two. Adds what is warned of to `warnings`, which must outlive the executable.
inline Result<std::unique_ptr<Executable>> compile_with_engines(
    std::shared_ptr<EngineBook> book, const Graph& graph, SharedChoices* choices,
    std::vector<std::string>& warnings) {
  return compile_for_gpu("host_gpu", graph,
                         {.batch = 2,
                          .choices = choices,
                          .warn = [&](std::string_view line) { warnings.emplace_back(line); }},
                         *make_host_engines(std::move(book)));
}

}  // namespace dllaunch::gpu
