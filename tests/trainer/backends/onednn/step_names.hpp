// What the oneDNN backend runs for a graph, as text.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "tests/trainer/backends/compiled.hpp"

namespace dllaunch {

/// "conv1 forward: jit:avx512_core" and so on.
inline std::vector<std::string> onednn_steps(const Graph& graph, int batch = 4) {
  Compiled compiled(backend_named("onednn"), graph, {.batch = batch, .threads = 1});
  return compiled->steps();
}

/// Names alone, without reorders: which of those there are depends on the CPU.
inline std::vector<std::string> onednn_work(const Graph& graph) {
  std::vector<std::string> names;
  for (const std::string& step : onednn_steps(graph)) {
    const std::string name = step.substr(0, step.find(':'));
    if (name.find("reorder") == std::string::npos) names.push_back(name);
  }
  return names;
}

}  // namespace dllaunch
